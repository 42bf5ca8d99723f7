// Answers: those to a GET or HEAD of an object have conditions (RFC 9110, section 13) and one range of bytes (section 14.2).

import type { StoredObject } from './catalogue.ts';
import { S3Error } from './errors.ts';
import type { StoreRequest } from './request.ts';

export type Reply = {
  status: number;
  headers?: Readonly<Record<string, string>>;
  /** XML. */
  document?: string;
  /** A part of a file; the descriptor is closed once it is sent or the client has left. */
  file?: { start: number; length: number; descriptor: number };
};

export const renderIdentity = ({ etag, version }: StoredObject): Record<string, string> => ({
  etag: `"${etag}"`,
  'x-amz-version-id': version,
});

// biome-ignore lint/suspicious/noControlCharactersInRegex: a header can't carry them
const CONTROL = /[\u0000-\u0008\u000a-\u001f\u007f]/;

/** The type to store; S3's own where there is none. Throws InvalidArgument where it can't be a header. */
export const parseContentType = (value: string | undefined): string =>
  assertHeader('content-type', value || 'binary/octet-stream');

function assertHeader(name: string, value: string): string {
  if (!CONTROL.test(value)) return value;
  throw new S3Error('InvalidArgument', `The value of ${name} can't be sent as a header.`);
}

/** The head of the answer; `part` is the requested part of the content, undefined for none. */
export function renderRead(request: StoreRequest, object: StoredObject) {
  const validators = {
    ...renderIdentity(object),
    'last-modified': new Date(object.modifiedMs).toUTCString(),
  };
  if (isNotModified(request, object)) return { reply: { status: 304, headers: validators }, part: undefined };
  const range = findRange(request, object);
  const part = range ?? { start: 0, length: object.size };
  const headers = {
    ...renderContentHeaders(request, object.type),
    ...validators,
    'accept-ranges': 'bytes',
    ...(range && {
      'content-range': `bytes ${range.start}-${range.start + range.length - 1}/${object.size}`,
    }),
  };
  return { reply: { status: range === undefined ? 200 : 206, headers }, part };
}

export const preconditionFailed = (condition: string): S3Error =>
  new S3Error('PreconditionFailed', { details: { Condition: condition } });

/** Whether the list of ETags names this one, or any. S3 takes ETags with and without quotes. */
export const matches = (list: string, etag: string): boolean =>
  list
    .split(',')
    .map((item) => item.trim().replace(/^W\//, '').replaceAll('"', ''))
    .some((item) => item === '*' || item === etag);

/** Throws PreconditionFailed. */
function isNotModified({ headers }: StoreRequest, { etag, modifiedMs }: StoredObject): boolean {
  const ifMatch = headers.get('if-match');
  const unmodifiedSince = Date.parse(headers.get('if-unmodified-since') ?? '');
  if (ifMatch === undefined ? modifiedMs > unmodifiedSince : !matches(ifMatch, etag))
    throw preconditionFailed('If-Match');
  const ifNoneMatch = headers.get('if-none-match');
  if (ifNoneMatch !== undefined) return matches(ifNoneMatch, etag);
  return modifiedMs <= Date.parse(headers.get('if-modified-since') ?? '');
}

/**
 * Undefined where the whole object is to be sent: no header, another unit, several ranges, one that is not well-formed, or one of
 * another content (If-Range). Throws InvalidRange where it lies outside the object.
 */
function findRange({ headers }: StoreRequest, { size, etag, modifiedMs }: StoredObject) {
  const ifRange = headers.get('if-range');
  const isCurrent =
    ifRange?.includes('"') === true ? ifRange === `"${etag}"` : modifiedMs <= Date.parse(ifRange ?? '');
  if (ifRange !== undefined && !isCurrent) return undefined;
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(headers.get('range')?.trim() ?? '') ?? [];
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

/** The content type, and what the `response-*` parameters ask for. Throws InvalidArgument where one can't be a header. */
function renderContentHeaders(request: StoreRequest, contentType: string): Record<string, string> {
  const values: Record<string, string> = { 'content-type': contentType };
  for (const name of ['content-disposition', 'content-type']) {
    const value = request.parameter(`response-${name}`);
    if (value !== undefined) values[name] = assertHeader(`response-${name}`, value);
  }
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, Buffer.from(value, 'utf8').toString('latin1')]),
  );
}
