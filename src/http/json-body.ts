import { unsupportedMediaType, type ValidationEntry, ValidationFailure } from '../core/errors.ts';
import {
  isRawNumber,
  isStorableText,
  mayHoldUnstorableText,
  NumberOutOfRange,
  nestingDepth,
  parseJson,
} from '../core/json.ts';
import { readBody } from './body.ts';
import { locateJsonError } from './json-error.ts';
import { JSON_BODY_BYTES_MAX, JSON_NESTING_MAX, MISTAKES_MAX } from './limits.ts';
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
  return toJsonBody(request, await readBody(request, JSON_BODY_BYTES_MAX), { absent, storable: true });
}

/** As `readJsonBody`, of a body that is read already; `storable`: text that no database can hold is refused. */
export function toJsonBody(
  request: Request,
  bytes: Uint8Array,
  { absent, storable }: { absent?: object | undefined; storable: boolean },
): unknown {
  if (bytes.length === 0) {
    if (absent !== undefined) return absent;
    throw new ValidationFailure([missing(['body'], null)]);
  }
  const mediaType = request.headers.get('content-type');
  if (mediaType !== null && !JSON_MEDIA_TYPE.test(mediaType)) {
    throw unsupportedMediaType('The body must be sent as application/json');
  }
  const value = parseJsonBody(bytes, storable);
  if (value === null) throw new ValidationFailure([missing(['body'], null)]);
  return value;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The value of a JSON text; `storable`: and nothing that no database can hold. Throws ValidationFailure for malformed text, too
 * deep nesting, numbers out of range, NULs and lone surrogates.
 */
function parseJsonBody(bytes: Uint8Array, storable: boolean): unknown {
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
  if (storable && mayHoldUnstorableText(text)) {
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
