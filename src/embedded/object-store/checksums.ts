// Digests of a body while it streams: those of the protocol, and the checksums that clients send by themselves.
import { crc32 } from 'node:zlib';

/** Of the `x-amz-checksum-*` headers: the defaults of the SDKs. */
export const CHECKSUM_ALGORITHMS = ['crc32', 'crc64nvme'] as const;
export type ChecksumAlgorithm = (typeof CHECKSUM_ALGORITHMS)[number];
export type DigestAlgorithm = ChecksumAlgorithm | 'md5' | 'sha256';

interface Digest {
  update(chunk: Uint8Array): void;
  /** Big-endian bytes; to be called once. */
  finish(): Buffer;
}

export function createDigest(algorithm: DigestAlgorithm): Digest {
  if (algorithm === 'crc32') return createCrc32();
  if (algorithm === 'crc64nvme') return createCrc64();
  const hash = new Bun.CryptoHasher(algorithm);
  return { update: (chunk) => void hash.update(chunk), finish: () => Buffer.from(hash.digest()) };
}

function createCrc32(): Digest {
  let sum = 0;
  return {
    update: (chunk) => {
      sum = crc32(chunk, sum);
    },
    finish: () => {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(sum);
      return bytes;
    },
  };
}

const CRC64_POLYNOMIAL = 0x9a6c9329ac4bc9b5n;
const CRC64_TABLE = Array.from({ length: 256 }, (_, byte) => {
  let sum = BigInt(byte);
  for (let bit = 0; bit < 8; bit += 1) sum = sum & 1n ? (sum >> 1n) ^ CRC64_POLYNOMIAL : sum >> 1n;
  return sum;
});
const CRC64_HIGH = Uint32Array.from(CRC64_TABLE, (entry) => Number(entry >> 32n));
const CRC64_LOW = Uint32Array.from(CRC64_TABLE, (entry) => Number(entry & 0xffffffffn));

/** CRC-64/NVME, reflected, in two 32-bit halves: BigInt would be a hundred times slower. */
function createCrc64(): Digest {
  let high = ~0;
  let low = ~0;
  return {
    update: (chunk) => {
      for (const byte of chunk) {
        const entry = (low ^ byte) & 0xff;
        low = ((low >>> 8) | (high << 24)) ^ (CRC64_LOW[entry] ?? 0);
        high = (high >>> 8) ^ (CRC64_HIGH[entry] ?? 0);
      }
    },
    finish: () => {
      const bytes = Buffer.alloc(8);
      bytes.writeUInt32BE(~high >>> 0, 0);
      bytes.writeUInt32BE(~low >>> 0, 4);
      return bytes;
    },
  };
}
