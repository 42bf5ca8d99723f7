// What a GET or HEAD asks of an object: conditions (RFC 9110, section 13) and one range of bytes (section 14.2).
import { S3Error } from './errors.ts';

type Header = (name: string) => string | undefined;

type Validators = { etag: string; modifiedMs: number };

export function evaluateConditions(
  header: Header,
  object: Validators,
): 'proceed' | 'not-modified' | 'failed' {
  const ifMatch = header('if-match');
  if (ifMatch !== undefined) {
    if (!matches(ifMatch, object.etag)) return 'failed';
  } else if (isModifiedAfter(header('if-unmodified-since'), object.modifiedMs) === true) return 'failed';
  const ifNoneMatch = header('if-none-match');
  if (ifNoneMatch !== undefined) return matches(ifNoneMatch, object.etag) ? 'not-modified' : 'proceed';
  return isModifiedAfter(header('if-modified-since'), object.modifiedMs) === false
    ? 'not-modified'
    : 'proceed';
}

export const preconditionFailed = (condition: string): S3Error =>
  new S3Error('PreconditionFailed', { details: { Condition: condition } });

/** Whether the list of ETags names this one, or any. S3 takes ETags with and without quotes. */
export const matches = (list: string, etag: string): boolean =>
  list
    .split(',')
    .map((item) => item.trim().replace(/^W\//, '').replaceAll('"', ''))
    .some((item) => item === '*' || item === etag);

export type ByteRange = { start: number; length: number };

/**
 * Undefined where the whole object is to be sent: no header, another unit, several ranges, one that is not well-formed, or one of
 * another content (If-Range). Throws InvalidRange where it lies outside the object.
 */
export function findRange(header: Header, object: Validators & { size: number }): ByteRange | undefined {
  if (!isRangeCurrent(header('if-range'), object)) return undefined;
  const { size } = object;
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header('range')?.trim() ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (start > end)
    throw new S3Error('InvalidRange', {
      details: { ActualObjectSize: String(size) },
      headers: { 'content-range': `bytes */${size}` },
    });
  return { start, length: end - start + 1 };
}

function isRangeCurrent(ifRange: string | undefined, object: Validators): boolean {
  if (ifRange === undefined) return true;
  if (ifRange.includes('"')) return !ifRange.startsWith('W/') && matches(ifRange, object.etag);
  return isModifiedAfter(ifRange, object.modifiedMs) === false;
}

/** Undefined where there is no valid date. */
function isModifiedAfter(date: string | undefined, modifiedMs: number): boolean | undefined {
  const time = date === undefined ? Number.NaN : Date.parse(date);
  return Number.isNaN(time) ? undefined : modifiedMs > time;
}
