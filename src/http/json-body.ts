import {
  requestTimeout,
  ServiceError,
  tooLarge,
  unsupportedMediaType,
  type ValidationEntry,
  ValidationFailure,
} from '../core/errors.ts';
import {
  isRawNumber,
  isStorableText,
  mayHoldUnstorableText,
  NumberOutOfRange,
  nestingDepth,
  parseJson,
} from '../core/json.ts';
import { locateJsonError } from './json-error.ts';
import { JSON_BODY_BYTES_MAX, JSON_BODY_TIMEOUT_MS, JSON_NESTING_MAX, MISTAKES_MAX } from './limits.ts';
import { type Location, missing } from './validation.ts';

const JSON_MEDIA_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/**
 * Reads and parses a request's JSON body; `absent`, where it is given, stands for none.
 * Throws 413 above the limit (before reading, where the length is declared), 408 when it does not arrive in time
 * (or its client has gone, and nobody reads the answer), 415 for another media type, and
 * ValidationFailure for an absent body (`null` counts as one, as with FastAPI), malformed JSON, too deep nesting,
 * or text that no database can hold.
 */
export async function readJsonBody(request: Request, absent?: object): Promise<unknown> {
  const declared = Number(request.headers.get('content-length') ?? Number.NaN);
  if (declared > JSON_BODY_BYTES_MAX) throw bodyTooLarge();
  const bytes = await inTime(Number.isNaN(declared) ? readBounded(request) : request.bytes());
  if (bytes.length === 0) {
    if (absent !== undefined) return absent;
    throw new ValidationFailure([missing(['body'], null)]);
  }
  const mediaType = request.headers.get('content-type');
  if (mediaType !== null && !JSON_MEDIA_TYPE.test(mediaType)) {
    throw unsupportedMediaType('The body must be sent as application/json');
  }
  const value = parseBody(bytes);
  if (value === null) throw new ValidationFailure([missing(['body'], null)]);
  return value;
}

const bodyTooLarge = () => tooLarge(`The body is larger than ${JSON_BODY_BYTES_MAX} bytes`);

async function inTime(body: Promise<Uint8Array>): Promise<Uint8Array> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const refusal = (cause?: unknown) => requestTimeout('The body did not arrive in time', { cause });
  const timer = setTimeout(() => reject(refusal()), JSON_BODY_TIMEOUT_MS);
  try {
    return await Promise.race([body, late]);
  } catch (error) {
    throw error instanceof ServiceError ? error : refusal(error);
  } finally {
    clearTimeout(timer);
  }
}

/** A body of undeclared length: collected up to the limit, never beyond. */
async function readBounded(request: Request): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > JSON_BODY_BYTES_MAX) throw bodyTooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parseBody(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw malformed(0, 'The body is not UTF-8');
  }
  if (nestingDepth(text) > JSON_NESTING_MAX)
    throw malformed(0, `Nesting deeper than ${JSON_NESTING_MAX} levels`);
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    if (error instanceof NumberOutOfRange)
      throw malformed(text.indexOf(error.message), 'Number out of range');
    const mistake = locateJsonError(text);
    throw malformed(mistake.offset, mistake.error);
  }
  if (mayHoldUnstorableText(text)) {
    const entries: ValidationEntry[] = [];
    collectUnstorable(value, ['body'], entries);
    if (entries.length > 0) throw new ValidationFailure(entries);
  }
  return value;
}

function malformed(offset: number, error: string): ValidationFailure {
  return new ValidationFailure([
    { type: 'json_invalid', loc: ['body', offset], msg: 'JSON decode error', input: {}, ctx: { error } },
  ]);
}

/** The entry for text that Postgres refuses: a NUL, or half of a surrogate pair. */
export function unstorableText(loc: Location, text: string): ValidationEntry {
  const input = text.toWellFormed();
  if (!text.isWellFormed()) {
    const msg = 'Input should be a valid string, unable to parse raw data as a unicode string';
    return { type: 'string_unicode', loc, msg, input };
  }
  const error = 'the character U+0000 cannot be stored';
  return { type: 'value_error', loc, msg: `Value error, ${error}`, input, ctx: { error } };
}

function collectUnstorable(value: unknown, loc: Location, entries: ValidationEntry[]): void {
  if (entries.length >= MISTAKES_MAX) return;
  if (typeof value === 'string') {
    if (!isStorableText(value)) entries.push(unstorableText(loc, value));
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) collectUnstorable(item, [...loc, index], entries);
  } else if (typeof value === 'object' && value !== null && !isRawNumber(value)) {
    for (const [key, item] of Object.entries(value)) {
      const here = [...loc, key.toWellFormed()];
      if (!isStorableText(key)) entries.push(unstorableText(here, key));
      collectUnstorable(item, here, entries);
    }
  }
}
