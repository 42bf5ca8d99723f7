// Vectors as JSON text. A vector has hundreds of numbers, and writing them takes most of the time of an answer with one.

/** Significant digits that give every float32 back (FLT_DECIMAL_DIG). */
const DIGITS = 9;
/** From here to below 1 the digits stand behind `0.` and at most three zeros; elements of a unit's length are seldom others. */
const PLAIN_MIN = 1e-4;
const SCALES = Array.from({ length: DIGITS + 4 }, (_, decimals) => 10 ** decimals);
/** A sign, `0.`, the zeros and the digits, and a comma; also the longest text of any other number. */
const LENGTH_MAX = 32;
const [MINUS, POINT, COMMA, OPEN, CLOSE, ZERO] = [0x2d, 0x2e, 0x2c, 0x5b, 0x5d, 0x30];

/** The three digits of each number up to 999. */
const TRIPLES = Uint8Array.from(
  { length: 3000 },
  (_, at) => ZERO + (Math.trunc(at / 3 / 10 ** (2 - (at % 3))) % 10),
);

let scratch = Buffer.allocUnsafe(0);

/** A vector as a JSON list: each number rounded to nine significant digits, as `Number(value.toPrecision(9))` is written. */
export function vectorText(vector: Float32Array): string {
  const lengthMax = vector.length * LENGTH_MAX + 2;
  if (scratch.length < lengthMax) scratch = Buffer.allocUnsafe(lengthMax);
  const text = scratch;
  text[0] = OPEN;
  let at = 1;
  for (const value of vector) {
    if (at > 1) text[at++] = COMMA;
    const size = Math.abs(value);
    if (size === 0) text[at++] = ZERO;
    else if (size >= PLAIN_MIN && size < 1) at = writeFraction(text, at, value);
    else at += text.write(String(Number(value.toPrecision(DIGITS))), at, 'latin1');
  }
  text[at++] = CLOSE;
  return text.toString('latin1', 0, at);
}

/** The product is exact: 24 bits of a float32 by at most 28 of a power of five. So it is rounded once, as `toPrecision` does. */
function writeFraction(text: Buffer, start: number, value: number): number {
  const size = Math.abs(value);
  const zeros = size >= 0.1 ? 0 : size >= 0.01 ? 1 : size >= 0.001 ? 2 : 3;
  const digits = Math.round(size * (SCALES[DIGITS + zeros] ?? 1)) | 0;
  let at = start;
  if (value < 0) text[at++] = MINUS;
  text[at++] = ZERO;
  text[at++] = POINT;
  for (let zero = 0; zero < zeros; zero++) text[at++] = ZERO;
  const thousands = (digits / 1000) | 0;
  const millions = (thousands / 1000) | 0;
  at = writeTriple(text, at, millions);
  at = writeTriple(text, at, thousands - millions * 1000);
  at = writeTriple(text, at, digits - thousands * 1000);
  while (text[at - 1] === ZERO) at -= 1;
  return at;
}

function writeTriple(text: Buffer, at: number, number: number): number {
  text[at] = TRIPLES[number * 3] as number;
  text[at + 1] = TRIPLES[number * 3 + 1] as number;
  text[at + 2] = TRIPLES[number * 3 + 2] as number;
  return at + 3;
}
