// The body of a signed request, which is checked against what the request announces of it.

import { Writable } from 'node:stream';
import type { Authentication } from './authentication.ts';
import { createDigests, type Digests } from './digests.ts';
import { notImplemented, S3Error } from './errors.ts';
import { limits } from './limits.ts';
import type { StoreRequest } from './request.ts';

/** Throws where the announcement itself is not valid, and NotImplemented for the encoding `aws-chunked`. */
export function expectBody(request: StoreRequest, { payload }: Authentication): Digests {
  const isHash = /^[0-9a-f]{64}$/.test(payload);
  if (payload.startsWith('STREAMING-')) throw notImplemented(payload);
  if (!isHash && payload !== 'UNSIGNED-PAYLOAD')
    throw new S3Error('InvalidArgument', 'The x-amz-content-sha256 is not valid.');
  const crc32 = request.headers.get('x-amz-checksum-crc32');
  return createDigests({
    md5: parseContentMd5(request.headers.get('content-md5')),
    sha256: isHash ? Buffer.from(payload, 'hex') : undefined,
    crc32: crc32 === undefined ? undefined : Buffer.from(crc32, 'base64'),
  });
}

/** Reads a small document into memory. Throws MaxMessageLengthExceeded. */
export async function readDocument(request: StoreRequest, authentication: Authentication): Promise<string> {
  const digests = expectBody(request, authentication);
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      sizeBytes += chunk.length;
      chunks.push(chunk);
      digests.update(chunk);
      done(sizeBytes > limits.documentBytesMax ? new S3Error('MaxMessageLengthExceeded') : null);
    },
  });
  await request.sendBody(sink);
  digests.finish();
  return Buffer.concat(chunks).toString('utf8');
}

function parseContentMd5(header: string | undefined): Buffer | undefined {
  if (header === undefined) return undefined;
  const md5 = Buffer.from(header, 'base64');
  if (md5.length !== 16 || md5.toString('base64') !== header) throw new S3Error('InvalidDigest');
  return md5;
}
