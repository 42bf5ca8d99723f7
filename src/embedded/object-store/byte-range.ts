// The Range header of a GET (RFC 9110, section 14.2): one range of bytes.
import { S3Error } from './errors.ts';

export interface ByteRange {
  readonly start: number;
  readonly length: number;
}

/**
 * Undefined where the whole object is to be sent: no header, another unit, several ranges, or one that
 * is not well-formed. Throws InvalidRange where it lies outside the object.
 */
export function parseByteRange(header: string | undefined, sizeBytes: number): ByteRange | undefined {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (first === '') return suffix(Number(last), sizeBytes);
  const start = Number(first);
  const end = last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  if (last !== '' && Number(last) < start) return undefined;
  if (start >= sizeBytes) throw outside(sizeBytes);
  return { start, length: end - start + 1 };
}

function suffix(length: number, sizeBytes: number): ByteRange {
  if (length === 0 || sizeBytes === 0) throw outside(sizeBytes);
  const start = Math.max(0, sizeBytes - length);
  return { start, length: sizeBytes - start };
}

const outside = (sizeBytes: number): S3Error =>
  new S3Error('InvalidRange', {
    details: { ActualObjectSize: String(sizeBytes) },
    headers: { 'content-range': `bytes */${sizeBytes}` },
  });
