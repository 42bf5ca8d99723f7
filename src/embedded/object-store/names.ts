// The valid names of buckets and keys.
import { S3Error } from './errors.ts';
import { limits } from './limits.ts';

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const IP_ADDRESS = /^\d+\.\d+\.\d+\.\d+$/;

/** Throws InvalidBucketName unless the name follows S3's rules. */
export function assertBucketName(bucket: string): void {
  if (!BUCKET.test(bucket) || bucket.includes('..') || IP_ADDRESS.test(bucket))
    throw new S3Error('InvalidBucketName', { details: { BucketName: bucket } });
}

/** Throws unless the key has 1 to 1024 bytes of UTF-8. Any character will do, `/`, `..` and NUL included. */
export function assertKey(key: string): void {
  if (key === '') throw new S3Error('InvalidArgument', 'User key must have a length greater than 0.');
  if (!key.isWellFormed()) throw new S3Error('InvalidArgument', 'The key is not valid Unicode.');
  const size = Buffer.byteLength(key, 'utf8');
  if (size > limits.keyBytesMax) {
    throw new S3Error('KeyTooLongError', {
      details: { Size: String(size), MaxSizeAllowed: String(limits.keyBytesMax) },
    });
  }
}
