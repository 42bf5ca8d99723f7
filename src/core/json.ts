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

/** More significant digits than a double is sure to keep (DBL_DIG = 15), or an exponent. */
const MAY_LOSE_DIGITS = /\d[\d.]{15,}|\d[eE]/;

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
  if (!MAY_LOSE_DIGITS.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_key, value, context) => {
    if (typeof value !== 'number' || context.source === undefined) return value;
    if (!Number.isFinite(value)) throw new NumberOutOfRange(context.source);
    if (isExact(value, context.source)) return value;
    if (scaleOf(context.source) > SCALE_MAX) throw new NumberOutOfRange(context.source);
    return JSON.rawJSON(context.source);
  });
}

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
