// A look into the bucket with the credentials of its owner.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3';

export type BucketAccess = { endpoint: string; bucket: string; accessKeyId: string; secretAccessKey: string };

/** Of the store that a service embeds: what it keeps in its data folder. */
export function embeddedBucket(dataDir: string): BucketAccess {
  const { port, secretAccessKey } = JSON.parse(readFileSync(join(dataDir, 'object-store.json'), 'utf8'));
  return { endpoint: `http://127.0.0.1:${port}`, bucket: 'atrium', accessKeyId: 'atrium', secretAccessKey };
}

/** Of a store that the service was told to use. */
export const configuredBucket = (environment: Record<string, string>): BucketAccess => ({
  endpoint: environment['S3_ENDPOINT'] ?? '',
  bucket: environment['S3_BUCKET'] ?? '',
  accessKeyId: environment['S3_ACCESS_KEY_ID'] ?? '',
  secretAccessKey: environment['S3_SECRET_ACCESS_KEY'] ?? '',
});

/** Every key in the bucket but the mark of its owner, sorted. */
export async function listKeys({
  endpoint,
  bucket,
  accessKeyId,
  secretAccessKey,
}: BucketAccess): Promise<string[]> {
  const credentials = { accessKeyId, secretAccessKey };
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials });
  try {
    const keys: string[] = [];
    for await (const page of paginateListObjectsV2({ client }, { Bucket: bucket })) {
      for (const { Key = '' } of page.Contents ?? []) if (!Key.startsWith('.atrium/')) keys.push(Key);
    }
    return keys.sort();
  } finally {
    client.destroy();
  }
}
