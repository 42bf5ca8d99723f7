// JSON that gives back exactly what came in. JSON.parse rounds integers above 2^53 and turns 1e400 into
// Infinity; here such numbers keep their text (JSON.rawJSON, TC39 "JSON.parse source text access").

declare global {
  interface JSON {
    rawJSON(text: string): object;
    isRawJSON(value: unknown): value is { rawJSON: string };
    parse(
      text: string,
      reviver: (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown,
    ): unknown;
  }
}

/**
 * A number (which stands at the start, or behind a colon, a comma, a bracket or a blank) of more significant digits
 * than a double is sure to keep (DBL_DIG = 15), or with an exponent. Text may look so, too: that costs time only.
 */
const MAY_LOSE_DIGITS = /(?:^|[:,[\s])-?(?:\d[\d.]{15,}|[\d.]+[eE])/;

/** Digits behind the decimal point that Postgres can hold (numeric, and so jsonb). */
const SCALE_MAX = 16_383;

/** Below it doubles hold ever fewer digits. */
const NORMAL_DOUBLE_MIN = 2 ** -1022;

/** A number too large for a double, or too fine for Postgres: whoever reads it later would fail, so it is refused. */
export class NumberOutOfRange extends Error {}

/**
 * Parses JSON text without losing digits: numbers that a double would round become raw JSON values, which
 * JSON.stringify writes back verbatim. Throws SyntaxError on malformed text, NumberOutOfRange on 1e400.
 */
export function parseJson(text: string): unknown {
  return parseKeeping(text, (source) => {
    throw new NumberOutOfRange(source);
  });
}

/** As `parseJson`, with every number kept as it is written: `findUnstorable` tells which the database refuses. */
export const parseJsonAsWritten = (text: string): unknown => parseKeeping(text, JSON.rawJSON);

function parseKeeping(text: string, outOfRange: (source: string) => unknown): unknown {
  if (!MAY_LOSE_DIGITS.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_key, value, context) => {
    if (typeof value !== 'number' || context.source === undefined) return value;
    if (!isStorableNumber(value, context.source)) return outOfRange(context.source);
    return isExact(value, context.source) ? value : JSON.rawJSON(context.source);
  });
}

const isStorableNumber = (value: number, source: string): boolean =>
  Number.isFinite(value) && (isExact(value, source) || scaleOf(source) <= SCALE_MAX);

function isExact(value: number, source: string): boolean {
  if (String(value) === source) return true;
  const digits = source
    .replace(/[eE].*$/, '')
    .replace(/[-.]/g, '')
    .replace(/^0+|0+$/g, '');
  return digits === '' || (digits.length <= 15 && Math.abs(value) >= NORMAL_DOUBLE_MIN);
}

/** Digits behind the decimal point when the number is written without an exponent. */
function scaleOf(source: string): number {
  const [mantissa = '', exponent = '0'] = source.split(/[eE]/);
  return (mantissa.split('.')[1]?.length ?? 0) - Number(exponent);
}

/** Whether a value is JSON that was kept as text because a double cannot hold it. */
export const isRawNumber = (value: unknown): value is { rawJSON: string } => JSON.isRawJSON(value);

const SUSPECT_ESCAPE = /\\u(?:0000|[dD][89a-fA-F])/;

/** Whether parsed JSON text may hold a NUL or a lone surrogate: only escapes can bring them in. */
export const mayHoldUnstorableText = (text: string): boolean => SUSPECT_ESCAPE.test(text);

/** Whether Postgres can store the string: no NUL, no lone surrogate. */
export const isStorableText = (text: string): boolean => !text.includes('\u0000') && text.isWellFormed();

/** Whether `findUnstorable` may find something in what the text says; if not, it need not be asked. */
export const mayBeUnstorable = (text: string, nestingMax: number): boolean =>
  MAY_LOSE_DIGITS.test(text) || mayHoldUnstorableText(text) || nestingDepth(text) > nestingMax;

/** Why a database refuses a value, and where in it; undefined for one that it takes. */
export function findUnstorable(
  value: unknown,
  nestingMax: number,
  path: (string | number)[] = [],
): { path: (string | number)[]; reason: string } | undefined {
  if (typeof value === 'string') {
    if (isStorableText(value)) return undefined;
    const reason = value.isWellFormed() ? 'the character U+0000 cannot be stored' : 'a lone surrogate';
    return { path, reason };
  }
  if (isRawNumber(value)) {
    const kept = isStorableNumber(Number(value.rawJSON), value.rawJSON);
    return kept ? undefined : { path, reason: 'the number is out of range' };
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (nestingMax === 0) return { path: path.slice(0, 1), reason: 'it is nested too deeply' };
  for (const [key, item] of Object.entries(value)) {
    const here = [...path, Array.isArray(value) ? Number(key) : key.toWellFormed()];
    const found = isStorableText(key)
      ? findUnstorable(item, nestingMax - 1, here)
      : { path: here, reason: 'a key that cannot be stored' };
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The deepest nesting of arrays and objects in JSON text; malformed text gives some number. */
export function nestingDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x22) index = endOfString(text, index);
    else if (code === 0x5b || code === 0x7b) deepest = Math.max(deepest, ++depth);
    else if (code === 0x5d || code === 0x7d) depth--;
  }
  return deepest;
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
