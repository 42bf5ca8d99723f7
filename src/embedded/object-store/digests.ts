// The digests of a body, which are computed while it streams and compared with what the client announced.
import { timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { S3Error } from './errors.ts';

/** What the client says of the body, in headers. */
type Announced = { md5?: Buffer | undefined; sha256?: Buffer | undefined; crc32?: Buffer | undefined };

export type Digests = ReturnType<typeof createDigests>;

/** `finish` returns the MD5 in hex; throws BadDigest and its like where the body is not what was announced. */
export function createDigests(announced: Announced = {}) {
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
      const sum = Buffer.from(md5.digest());
      const crcBytes = Buffer.alloc(4);
      crcBytes.writeUInt32BE(crc);
      if (differ(announced.md5, sum)) throw new S3Error('BadDigest');
      if (sha256 !== undefined && differ(announced.sha256, Buffer.from(sha256.digest())))
        throw new S3Error('XAmzContentSHA256Mismatch');
      if (differ(announced.crc32, crcBytes))
        throw new S3Error('BadDigest', 'The CRC32 you specified did not match the calculated checksum.');
      return sum.toString('hex');
    },
  };
}

const differ = (expected: Buffer | undefined, computed: Buffer): boolean =>
  expected !== undefined && (expected.length !== computed.length || !timingSafeEqual(expected, computed));
