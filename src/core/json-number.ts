// Numbers of JSON texts: whether a double keeps all their digits, and whether the database can store them.

/** Digits after the decimal point that Postgres can store (numeric, and therefore jsonb). */
const SCALE_MAX = 16_383;

/** Characters of a number; by the scale of Postgres and the range of a double, no storable number has more. */
const NUMBER_LENGTH_MAX = 20_000;

/** Below it doubles have fewer digits. */
const NORMAL_DOUBLE_MIN = 2 ** -1022;

/** Significant decimal digits that every double keeps (DBL_DIG). */
const DOUBLE_DIGITS = 15;

/** Whether the database can store the number of this text. */
export const isStorableNumber = (value: number, source: string): boolean =>
  Number.isFinite(value) &&
  source.length <= NUMBER_LENGTH_MAX &&
  (isExact(value, source) || scaleOf(source) <= SCALE_MAX);

/** The number, or its text as a raw JSON value where a double would lose digits. */
export const keepDigits = (value: number, source: string): unknown =>
  isExact(value, source) ? value : JSON.rawJSON(source);

function isExact(value: number, source: string): boolean {
  if (String(value) === source) return true;
  if (!Number.isFinite(value)) return false;
  const digits = significantDigits(source);
  return digits === 0 || (digits <= DOUBLE_DIGITS && Math.abs(value) >= NORMAL_DOUBLE_MIN);
}

/** Digits of the mantissa without leading and trailing zeros. */
function significantDigits(source: string): number {
  let digits = 0;
  let trailingZeros = 0;
  for (let index = 0; index < source.length; index++) {
    const code = source.charCodeAt(index);
    if (code === 0x65 || code === 0x45) break;
    if (code < 0x30 || code > 0x39) continue;
    if (digits === 0 && code === 0x30) continue;
    digits++;
    trailingZeros = code === 0x30 ? trailingZeros + 1 : 0;
  }
  return digits - trailingZeros;
}

/** Digits after the decimal point of the number without an exponent. */
function scaleOf(source: string): number {
  const [mantissa = '', exponent = '0'] = source.split(/[eE]/);
  return (mantissa.split('.')[1]?.length ?? 0) - Number(exponent);
}
