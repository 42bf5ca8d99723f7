// JSON without loss of digits. JSON.parse rounds integers above 2^53, and reads 1e400 as Infinity; here such numbers keep
// their text (JSON.rawJSON, TC39 "JSON.parse source text access").

import { isStorableNumber } from './json-number.ts';
import { type JsonLimits, JsonMistake, JsonParser, type JsonParserOptions } from './json-parser.ts';
import { nextTimeSlice } from './time-slices.ts';

declare global {
  interface JSON {
    rawJSON(text: string): object;
    isRawJSON(value: unknown): value is { rawJSON: string };
  }
}

/**
 * A number (at the start, or after a colon, a comma, a bracket or a blank) with more significant digits than every double
 * keeps (DBL_DIG = 15), or with an exponent. A match within a string only costs time.
 */
const MAY_LOSE_DIGITS = /(?:^|[:,[\s])-?(?:\d[\d.]{15,}|[\d.]+[eE])/;

/** Texts up to this length are parsed at once; longer ones in time slices. About 10 ms at most. */
const AT_ONCE_LENGTH_MAX = 524_288;

/** Values between two readings of the clock. */
const VALUES_A_STEP = 256;

/** For texts of known size and origin. */
export const NO_LIMITS: JsonLimits = {
  nestingMax: Number.POSITIVE_INFINITY,
  valuesMax: Number.POSITIVE_INFINITY,
};

/**
 * Parses JSON text without losing digits: numbers that a double would round become raw JSON values, which
 * JSON.stringify writes back verbatim. For texts of known size and origin. Throws on malformed text, and on 1e400.
 */
export const parseJson = (text: string): unknown => parseAtOnce(text, NO_LIMITS);

/** As `parseJson`, but keeps every number as text; `findUnstorable` finds those that the database refuses. */
export const parseJsonAsWritten = (text: string): unknown =>
  parseAtOnce(text, { ...NO_LIMITS, anyNumber: true });

/**
 * As `parseJson`, for texts of callers: in linear time, within limits, and in time slices.
 * Throws JsonMistake.
 */
export async function parseJsonWithin(text: string, options: JsonParserOptions): Promise<unknown> {
  if (text.length <= AT_ONCE_LENGTH_MAX) {
    if (isWithin(text, options)) {
      try {
        return parseAtOnce(text, options);
      } catch (error) {
        if (error instanceof JsonMistake) throw error;
      }
    }
    // Finds the position of the first mistake, which JSON.parse does not report.
    return parseFully(text, options);
  }
  const parser = new JsonParser(text, options);
  let sliceEndsAt = await nextTimeSlice();
  while (!parser.advance(VALUES_A_STEP)) {
    if (performance.now() > sliceEndsAt) sliceEndsAt = await nextTimeSlice();
  }
  return parser.value();
}

const parseAtOnce = (text: string, options: JsonParserOptions): unknown =>
  MAY_LOSE_DIGITS.test(text) ? parseFully(text, options) : JSON.parse(text);

function parseFully(text: string, options: JsonParserOptions): unknown {
  const parser = new JsonParser(text, options);
  while (!parser.advance(Number.POSITIVE_INFINITY));
  return parser.value();
}

function isWithin(text: string, { nestingMax, valuesMax }: JsonLimits): boolean {
  // Each level and each value takes a character.
  if (text.length <= nestingMax && text.length <= valuesMax) return true;
  let depth = 0;
  let values = 1;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x22) index = endOfString(text, index);
    else if (code === 0x2c) values++;
    else if (code === 0x5b || code === 0x7b) {
      values++;
      if (++depth > nestingMax) return false;
    } else if (code === 0x5d || code === 0x7d) depth--;
  }
  return values <= valuesMax;
}

/** The index of the quote that closes the string opened at `start`, or the text's end. */
function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x5c) index++;
    else if (code === 0x22) return index;
  }
  return text.length;
}

/** Whether a value is a number that was kept as text because a double would lose digits. */
export const isRawNumber = (value: unknown): value is { rawJSON: string } => JSON.isRawJSON(value);

const SUSPECT_ESCAPE = /\\u(?:0000|[dD][89a-fA-F])/;

/** Whether a parsed JSON text may contain a NUL or a lone surrogate, which only escapes can produce. */
export const mayHoldUnstorableText = (text: string): boolean => SUSPECT_ESCAPE.test(text);

/** Whether Postgres can store the string: no NUL, no lone surrogate. */
export const isStorableText = (text: string): boolean => !text.includes('\u0000') && text.isWellFormed();

/** Whether `findUnstorable` may find something in the text's value; if not, the call can be omitted. */
export const mayBeUnstorable = (text: string, value: unknown, nestingMax: number): boolean =>
  MAY_LOSE_DIGITS.test(text) || mayHoldUnstorableText(text) || isNestedDeeper(value, nestingMax);

/** Whether arrays and objects are nested more than `levels` deep; does not read deeper levels. */
export function isNestedDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null || isRawNumber(value)) return false;
  if (levels === 0) return true;
  for (const key in value) {
    if (isNestedDeeper((value as Record<string, unknown>)[key], levels - 1)) return true;
  }
  return false;
}

/** Why the database refuses a value, and the path to the cause; undefined for a storable value. */
export function findUnstorable(
  value: unknown,
  nestingMax: number,
): { path: (string | number)[]; reason: string } | undefined {
  if (typeof value === 'string') {
    if (isStorableText(value)) return undefined;
    const reason = value.isWellFormed() ? 'the character U+0000 cannot be stored' : 'a lone surrogate';
    return { path: [], reason };
  }
  if (isRawNumber(value)) {
    const kept = isStorableNumber(Number(value.rawJSON), value.rawJSON);
    return kept ? undefined : { path: [], reason: 'the number is out of range' };
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (nestingMax === 0) return { path: [], reason: 'it is nested too deeply' };
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const found = findUnstorable(value[index], nestingMax - 1);
      if (found !== undefined) return { ...found, path: [index, ...found.path] };
    }
    return undefined;
  }
  for (const key in value) {
    const found = isStorableText(key)
      ? findUnstorable((value as Record<string, unknown>)[key], nestingMax - 1)
      : { path: [], reason: 'a key that cannot be stored' };
    if (found !== undefined) return { ...found, path: [key.toWellFormed(), ...found.path] };
  }
  return undefined;
}

export type Json = string | number | boolean | null | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json | undefined };

/** Not for a number that is kept as it was written. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value);
