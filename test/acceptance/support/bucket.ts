// A look into the bucket of a real store, with the credentials that the test gave it.

import { ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';

export type Bucket = {
  keys(prefix: string): Promise<string[]>;
  put(key: string, content: Uint8Array): Promise<void>;
};

/** Undefined for the embedded store, whose credentials only the service knows. */
export function openBucket(environment: Record<string, string | undefined>): Bucket | undefined {
  const { S3_ENDPOINT, S3_BUCKET, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY } = environment;
  if (S3_ENDPOINT === undefined) return undefined;
  const client = new S3Client({
    endpoint: S3_ENDPOINT,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: S3_ACCESS_KEY_ID ?? '', secretAccessKey: S3_SECRET_ACCESS_KEY ?? '' },
  });
  return {
    async keys(prefix) {
      const listed = await client.send(new ListObjectsV2Command({ Bucket: S3_BUCKET, Prefix: prefix }));
      return (listed.Contents ?? []).map(({ Key }) => Key ?? '');
    },
    async put(key, content) {
      await client.send(new PutObjectCommand({ Bucket: S3_BUCKET, Key: key, Body: content }));
    },
  };
}
