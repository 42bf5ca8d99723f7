// Conditional requests (RFC 9110, section 13).
import { S3Error } from './errors.ts';

type Header = (name: string) => string | undefined;

interface Validators {
  readonly etag: string;
  readonly modifiedMs: number;
}

export function evaluateRead(header: Header, object: Validators): 'proceed' | 'not-modified' | 'failed' {
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

/** Whether a range may be served: If-Range is absent, or still names this content. */
export function isRangeCurrent(ifRange: string | undefined, object: Validators): boolean {
  if (ifRange === undefined) return true;
  if (ifRange.includes('"')) return !ifRange.startsWith('W/') && matches(ifRange, object.etag);
  return isModifiedAfter(ifRange, object.modifiedMs) === false;
}

/** Whether the list of ETags names this one, or any. S3 takes ETags with and without quotes. */
export const matches = (list: string, etag: string): boolean =>
  list
    .split(',')
    .map((item) => item.trim().replace(/^W\//, '').replaceAll('"', ''))
    .some((item) => item === '*' || item === etag);

/** Undefined where there is no valid date. */
function isModifiedAfter(date: string | undefined, modifiedMs: number): boolean | undefined {
  const time = date === undefined ? Number.NaN : Date.parse(date);
  return Number.isNaN(time) ? undefined : modifiedMs > time;
}
