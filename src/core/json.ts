// JSON without loss of digits: a number that a double would round keeps its text (JSON.rawJSON and the `source` of JSON.parse's reviver,
// TC39 "JSON.parse source text access"), and JSON.stringify writes it back verbatim.

import { checkJson, EXACT_VALUES_MAX, isWithin, type JsonLimits, JsonMistake } from './json-mistake.ts';
import { createPauses, inSlices, nextTimeSlice } from './time-slices.ts';

declare global {
  interface JSON {
    rawJSON(text: string): object;
    isRawJSON(value: unknown): value is { rawJSON: string };
    parse(
      text: string,
      revive: (name: string, value: unknown, context: { source: string }) => unknown,
    ): unknown;
  }
}

/** A number that a double may round: more digits than every double keeps (DBL_DIG = 15), or an exponent. May match in a string. */
const MAY_LOSE_DIGITS = /(?:^|[:,[\s])-?(?:\d[\d.]{15,}|[\d.]+[eE])[-+\d.eE]*/;
const EVERY_SUCH_NUMBER = new RegExp(MAY_LOSE_DIGITS, 'g');

/** For texts of known size and origin. */
export const NO_LIMITS: JsonLimits = {
  nestingMax: Number.POSITIVE_INFINITY,
  valuesMax: Number.POSITIVE_INFINITY,
  exactValuesMax: Number.POSITIVE_INFINITY,
};

/** For texts of known size and origin. Throws on malformed text, and on numbers that the database cannot store, such as 1e400. */
export const parseJson = (text: string): unknown => {
  if (!MAY_LOSE_DIGITS.test(text)) return JSON.parse(text);
  return JSON.parse(text, (name, value, { source }) => {
    if (typeof value === 'number' && !isStorableNumber(value, source)) throw new Error('Number out of range');
    return keepDigits(name, value, { source });
  });
};

/** As `parseJson`, but takes every number; `findUnstorable` finds those that the database refuses. */
export const parseJsonAsWritten = (text: string): unknown =>
  MAY_LOSE_DIGITS.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text);

/** As `parseJson`, for texts of callers; `anyNumber`: as `parseJsonAsWritten`. Throws JsonMistake. */
export async function parseJsonWithin(
  text: string,
  options: JsonLimits & { anyNumber?: boolean },
): Promise<unknown> {
  const isTaken = options.anyNumber === true ? () => true : isStorableNumber;
  const check = () => inSlices(checkJson(text, options, isTaken));
  if (!(await inSlices(isWithin(text, options)))) await check();
  try {
    const losesDigits = (await inSlices(mayLoseDigits(text))) && (await hasInexactNumber(text));
    const exactValuesMax = options.exactValuesMax ?? EXACT_VALUES_MAX;
    if (losesDigits && !(await inSlices(isWithin(text, { ...options, valuesMax: exactValuesMax })))) {
      const message = `More than ${exactValuesMax} values beside a number of more digits than a double keeps`;
      throw new JsonMistake('digits', message, 0);
    }
    // The engine parses a large text at once: nothing else is done in the same turn of the event loop.
    if (text.length > PIECE_LENGTH) await nextTimeSlice();
    if (!losesDigits) return JSON.parse(text);
    return options.anyNumber === true ? parseJsonAsWritten(text) : parseJson(text);
  } catch (error) {
    // The engine does not say where the first mistake is.
    await check();
    throw error;
  }
}

/** Characters in which such a number is looked for at once, and by how many these pieces overlap. */
const PIECE_LENGTH = 524_288;
const OVERLAP = 64;

/** `MAY_LOSE_DIGITS` on a large text, a piece at a time. */
function* mayLoseDigits(text: string): Generator<void, boolean> {
  for (let start = 0; start < text.length; start += PIECE_LENGTH) {
    if (MAY_LOSE_DIGITS.test(text.slice(start, start + PIECE_LENGTH + OVERLAP))) return true;
    yield;
  }
  return false;
}

/** Lists of a million floats are common, and none of them loses digits. Others are served meanwhile. */
async function hasInexactNumber(text: string): Promise<boolean> {
  const pause = createPauses();
  let looked = 0;
  for (const [found] of text.matchAll(EVERY_SUCH_NUMBER)) {
    const source = found.replace(/^[:,[\s]/, '');
    if (!isExact(Number(source), source)) return true;
    if (++looked % 1000 === 0) await pause();
  }
  return false;
}

const keepDigits = (_name: string, value: unknown, { source }: { source: string }): unknown =>
  typeof value !== 'number' || isExact(value, source) ? value : JSON.rawJSON(source);

/** Characters of a number, and digits after its decimal point, that Postgres can store (numeric, and therefore jsonb). */
const NUMBER_LENGTH_MAX = 20_000;
const SCALE_MAX = 16_383;
/** Below it doubles have fewer digits. */
const NORMAL_DOUBLE_MIN = 2 ** -1022;

/** Whether the database can store the number of this text. */
function isStorableNumber(value: number, source: string): boolean {
  if (!Number.isFinite(value) || source.length > NUMBER_LENGTH_MAX) return false;
  const [mantissa = '', exponent = '0'] = source.split(/[eE]/);
  const scale = (mantissa.split('.')[1]?.length ?? 0) - Number(exponent);
  return scale <= SCALE_MAX || isExact(value, source);
}

/** Whether a double keeps all digits of the number of this text. */
function isExact(value: number, source: string): boolean {
  if (String(value) === source) return true;
  if (!Number.isFinite(value) || source.length > NUMBER_LENGTH_MAX) return false;
  const digits = countSignificantDigits(source);
  return digits === 0 || (digits <= 15 && Math.abs(value) >= NORMAL_DOUBLE_MIN);
}

/** Digits of the mantissa without leading and trailing zeros. A loop: patterns take quadratic time for runs of zeros. */
function countSignificantDigits(source: string): number {
  let digits = 0;
  let trailingZeros = 0;
  for (const sign of source) {
    if (sign === 'e' || sign === 'E') break;
    if (sign < '0' || sign > '9' || (digits === 0 && sign === '0')) continue;
    digits++;
    trailingZeros = sign === '0' ? trailingZeros + 1 : 0;
  }
  return digits - trailingZeros;
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
