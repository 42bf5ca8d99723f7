// The media type of an object, and the headers that a signed URL gives to its answer.
import { S3Error } from './errors.ts';
import type { StoreRequest } from './request.ts';

const DEFAULT_CONTENT_TYPE = 'binary/octet-stream';
/** The `response-*` parameters of a GET. */
const OVERRIDES = ['content-disposition', 'content-type'] as const;
// biome-ignore lint/suspicious/noControlCharactersInRegex: a header can't carry them
const CONTROL = /[\u0000-\u0008\u000a-\u001f\u007f]/;

/** The type to store; S3's own where there is none. Throws InvalidArgument where it can't be a header. */
export const parseContentType = (value: string | undefined): string =>
  value === undefined || value === '' ? DEFAULT_CONTENT_TYPE : assertHeader('content-type', value);

/** Header values have one character a byte; clients send UTF-8. */
export function contentTypeOf(request: StoreRequest): string {
  const sent = request.headers.get('content-type');
  return parseContentType(sent && Buffer.from(sent, 'latin1').toString('utf8'));
}

/** For an answer with the object's content. Throws InvalidArgument where a parameter can't be a header. */
export function renderContentHeaders(request: StoreRequest, contentType: string): Record<string, string> {
  const values: Record<string, string> = { 'content-type': contentType };
  for (const name of OVERRIDES) {
    const value = request.parameter(`response-${name}`);
    if (value !== undefined) values[name] = assertHeader(`response-${name}`, value);
  }
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, Buffer.from(value, 'utf8').toString('latin1')]),
  );
}

function assertHeader(name: string, value: string): string {
  if (!CONTROL.test(value)) return value;
  throw new S3Error('InvalidArgument', `The value of ${name} can't be sent as a header.`);
}
