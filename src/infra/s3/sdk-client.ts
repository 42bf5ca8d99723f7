// The SDK's client of the object store, for calls and for what is signed.

import { S3Client } from '@aws-sdk/client-s3';

export type SigningIdentity = {
  accessKeyId: string;
  secretAccessKey: string;
  region: string;
  bucket: string;
};

/** It neither makes nor checks checksums that S3 does not require. */
export const createSdkClient = (identity: SigningIdentity, endpoint: string): S3Client =>
  new S3Client({
    endpoint,
    region: identity.region,
    credentials: { accessKeyId: identity.accessKeyId, secretAccessKey: identity.secretAccessKey },
    forcePathStyle: true,
    maxAttempts: 3,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
