// The attributes of an object besides its bytes: its content headers, its user metadata, its checksum.
import { S3Error } from './errors.ts';
import { limits } from './limits.ts';
import type { Checksum } from './payload.ts';

const CONTENT_HEADERS = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-type',
  'expires',
] as const;
const METADATA_PREFIX = 'x-amz-meta-';
const DEFAULT_CONTENT_TYPE = 'binary/octet-stream';
// biome-ignore lint/suspicious/noControlCharactersInRegex: a header can't carry them
const CONTROL = /[\u0000-\u0008\u000a-\u001f\u007f]/;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

export interface ObjectAttributes {
  /** By lower-case name; content-type is always there. */
  readonly headers: Readonly<Record<string, string>>;
  /** By lower-case name without the prefix. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly checksum?: Checksum;
}

/**
 * Picks the attributes out of headers or form fields (lower-case names, values as text).
 * Throws InvalidArgument where a value can't be a header, MetadataTooLarge.
 */
export function parseAttributes(values: Iterable<readonly [string, string]>): ObjectAttributes {
  const headers: Record<string, string> = { 'content-type': DEFAULT_CONTENT_TYPE };
  const metadata: Record<string, string> = {};
  let metadataBytes = 0;
  for (const [name, value] of values) {
    const isMetadata = name.startsWith(METADATA_PREFIX);
    if (!isMetadata && !CONTENT_HEADERS.some((header) => header === name)) continue;
    if (CONTROL.test(value) || !HEADER_NAME.test(name)) {
      throw new S3Error('InvalidArgument', { message: `The value of ${name} can't be sent as a header.` });
    }
    if (isMetadata) {
      const metadataName = name.slice(METADATA_PREFIX.length);
      metadataBytes += metadataName.length + Buffer.byteLength(value);
      metadata[metadataName] = value;
    } else if (value !== '') headers[name] = value;
  }
  if (metadataBytes > limits.metadataBytesMax) throw new S3Error('MetadataTooLarge');
  return { headers: withoutChunkedEncoding(headers), metadata };
}

/** aws-chunked is the encoding of the transfer, not of the object. */
function withoutChunkedEncoding(headers: Record<string, string>): Record<string, string> {
  const { 'content-encoding': encoding, ...others } = headers;
  const kept = (encoding ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '' && part.toLowerCase() !== 'aws-chunked');
  return kept.length === 0 ? others : { ...others, 'content-encoding': kept.join(', ') };
}

/** The attributes as response headers; `overrides` are those of a signed response-* parameter. */
export function renderAttributes(
  attributes: ObjectAttributes,
  overrides: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const rendered: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...attributes.headers, ...overrides })) {
    rendered[name] = Buffer.from(value, 'utf8').toString('latin1');
  }
  for (const [name, value] of Object.entries(attributes.metadata)) {
    rendered[METADATA_PREFIX + name] = renderMetadataValue(value);
  }
  return rendered;
}

/** Text outside ASCII travels as an RFC 2047 encoded word, as S3 sends it. */
function renderMetadataValue(value: string): string {
  return /^[\u0020-\u007e\t]*$/.test(value)
    ? value
    : `=?UTF-8?B?${Buffer.from(value, 'utf8').toString('base64')}?=`;
}

/** The response-* parameters of a signed GET. Throws InvalidArgument where one can't be a header. */
export function parseOverrides(parameter: (name: string) => string | undefined): Record<string, string> {
  const overrides: Record<string, string> = {};
  for (const name of CONTENT_HEADERS) {
    const value = parameter(`response-${name}`);
    if (value === undefined) continue;
    if (CONTROL.test(value)) {
      throw new S3Error('InvalidArgument', { message: `response-${name} can't be sent as a header.` });
    }
    overrides[name] = value;
  }
  return overrides;
}

/** Header values have one character a byte; clients send UTF-8. */
export function decodeHeaderText(value: string): string {
  return Buffer.from(value, 'latin1').toString('utf8');
}
