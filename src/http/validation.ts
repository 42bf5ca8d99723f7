// What was sent, as values that an operation may use: a body as JSON within the limits, and each value by its schema. Only what has a
// mistake is looked at closely (mistakes.ts).

import type { TSchema } from '@sinclair/typebox';
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler';
import { unsupportedMediaType, type ValidationEntry, ValidationFailure } from '../core/errors.ts';
import { isRawNumber, isStorableText, mayHoldUnstorableText, parseJsonWithin } from '../core/json.ts';
import { type JsonLimits, JsonMistake } from '../core/json-mistake.ts';
import { JSON_NESTING_MAX, JSON_VALUES_MAX, MISTAKES_MAX } from './limits.ts';
import { type Checked, countCharacters, findMistakes, type Location, missing } from './mistakes.ts';

const JSON_MEDIA_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

export const isJsonMediaType = (mediaType: string): boolean => JSON_MEDIA_TYPE.test(mediaType);

export const declaresJson = (request: Request): boolean =>
  isJsonMediaType(request.headers.get('content-type') ?? '');

/**
 * The value of a body that has been read; `absent` is that of an empty one; `storable`: text that the database cannot store is refused.
 * Throws 415 for another media type, and ValidationFailure for an absent body (`null` counts as one, as with FastAPI), malformed
 * JSON, JSON beyond the ceilings, or text that no database can hold.
 */
export async function toJsonBody(
  request: Request,
  bytes: Uint8Array,
  {
    absent,
    valuesMax = JSON_VALUES_MAX,
    storable = true,
  }: { absent?: object | undefined; valuesMax?: number; storable?: boolean } = {},
): Promise<unknown> {
  if (bytes.length === 0) {
    if (absent !== undefined) return absent;
    throw new ValidationFailure([missing(['body'], null)]);
  }
  if (request.headers.has('content-type') && !declaresJson(request))
    throw unsupportedMediaType('The body must be sent as application/json');
  const { text, value } = await parseJsonBody(bytes, { nestingMax: JSON_NESTING_MAX, valuesMax });
  if (value === null) throw new ValidationFailure([missing(['body'], null)]);
  if (storable && mayHoldUnstorableText(text)) {
    const entries: ValidationEntry[] = [];
    collectUnstorable(value, ['body'], entries);
    if (entries.length > 0) throw new ValidationFailure(entries);
  }
  return value;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The text of a body and its value, parsed within the limits; `anyNumber`: numbers that no database can store are kept
 * as they are written. Throws ValidationFailure, which says where the first mistake stands.
 */
export async function parseJsonBody(
  bytes: Uint8Array,
  limits: JsonLimits & { anyNumber?: boolean },
): Promise<{ text: string; value: unknown }> {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw malformed(0, 'The body is not UTF-8');
  }
  try {
    return { text, value: await parseJsonWithin(text, limits) };
  } catch (error) {
    if (error instanceof JsonMistake) throw malformed(countCharacters(text, error.index), error.message);
    throw error;
  }
}

const malformed = (offset: number, error: string): ValidationFailure =>
  new ValidationFailure([
    { type: 'json_invalid', loc: ['body', offset], msg: 'JSON decode error', input: {}, ctx: { error } },
  ]);

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

/** A reusable check of one schema. */
export type Validator = (input: unknown, loc: Location) => Checked;

const NO_ENTRIES: readonly ValidationEntry[] = [];

export function createValidator(schema: TSchema): Validator {
  // By the first value: a start would wait for the checks of all operations.
  let compiled: TypeCheck<TSchema> | undefined;
  return (input, loc) => {
    compiled ??= TypeCompiler.Compile(schema);
    return compiled.Check(input) ? { value: input, entries: NO_ENTRIES } : findMistakes(schema, input, loc);
  };
}
