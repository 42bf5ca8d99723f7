// The digests of a body, which are computed while it streams and compared with what the request announced.

import { crc32 } from 'node:zlib';
import { notImplemented, S3Error } from './errors.ts';
import { limits } from './limits.ts';
import type { StoreRequest } from './request.ts';

export type Digests = ReturnType<typeof createDigests>;

/** `finish` returns the MD5 in hex; throws BadDigest and its like where the body is not what was announced. */
export function createDigests(
  announced: { md5?: Buffer | undefined; sha256?: Buffer | undefined; crc32?: Buffer | undefined } = {},
) {
  const md5 = new Bun.CryptoHasher('md5');
  const sha256 = announced.sha256 && new Bun.CryptoHasher('sha256');
  let crc = 0;
  return {
    update(chunk: Uint8Array): void {
      md5.update(chunk);
      sha256?.update(chunk);
      if (announced.crc32 !== undefined) crc = crc32(chunk, crc);
    },
    finish(): string {
      const sum = md5.digest();
      const crcBytes = Buffer.alloc(4);
      crcBytes.writeUInt32BE(crc);
      if (announced.md5?.equals(sum) === false) throw new S3Error('BadDigest');
      if (sha256 !== undefined && announced.sha256?.equals(sha256.digest()) === false)
        throw new S3Error('XAmzContentSHA256Mismatch');
      if (announced.crc32?.equals(crcBytes) === false)
        throw new S3Error('BadDigest', 'The CRC32 you specified did not match the calculated checksum.');
      return sum.toString('hex');
    },
  };
}

/** For the body of a signed request. `payload`: its hash in hex, or one of the protocol's words. Throws where it is not valid. */
export function expectBody({ headers }: StoreRequest, payload: string): Digests {
  const isHash = /^[0-9a-f]{64}$/.test(payload);
  if (payload.startsWith('STREAMING-')) throw notImplemented(payload);
  if (!isHash && payload !== 'UNSIGNED-PAYLOAD')
    throw new S3Error('InvalidArgument', 'The x-amz-content-sha256 is not valid.');
  const decode = (name: string): Buffer | undefined => {
    const value = headers.get(name);
    return value === undefined ? undefined : Buffer.from(value, 'base64');
  };
  const md5 = decode('content-md5');
  if (md5 !== undefined && (md5.length !== 16 || md5.toString('base64') !== headers.get('content-md5')))
    throw new S3Error('InvalidDigest');
  const sha256 = isHash ? Buffer.from(payload, 'hex') : undefined;
  return createDigests({ md5, sha256, crc32: decode('x-amz-checksum-crc32') });
}

/** Reads a small document into memory. Throws MaxMessageLengthExceeded. */
export async function readDocument(request: StoreRequest, payload: string): Promise<string> {
  const digests = expectBody(request, payload);
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request.body()) {
    sizeBytes += chunk.length;
    if (sizeBytes > limits.documentBytesMax) throw new S3Error('MaxMessageLengthExceeded');
    chunks.push(chunk);
    digests.update(chunk);
  }
  digests.finish();
  return Buffer.concat(chunks).toString('utf8');
}
