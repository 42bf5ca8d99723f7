// Vectors as JSON text. A vector has hundreds of numbers, and writing them takes most of the time of an answer with one.

/** Significant digits that give every float32 back (FLT_DECIMAL_DIG). */
const DIGITS = 9;
/** From here to below 1 the digits stand behind `0.` and at most three zeros; elements of a unit's length are seldom others. */
const PLAIN_MIN = 1e-4;
/** A sign, `0.`, the zeros and the digits, and a comma; also the longest text of any other number. */
const LENGTH_MAX = 32;
const [MINUS, POINT, COMMA, OPEN, CLOSE, ZERO] = [0x2d, 0x2e, 0x2c, 0x5b, 0x5d, 0x30];

/** The three digits of each number up to 999, the first one in the lowest byte. */
const TRIPLES = Int32Array.from(
  { length: 1000 },
  (_, number) =>
    (ZERO * 0x10101) |
    Math.trunc(number / 100) |
    ((Math.trunc(number / 10) % 10) << 8) |
    ((number % 10) << 16),
);

let scratch = Buffer.allocUnsafe(0);

/** A vector as a JSON list: each number rounded to nine significant digits, as `Number(value.toPrecision(9))` is written. */
export function vectorText(vector: Float32Array): Uint8Array {
  const lengthMax = vector.length * LENGTH_MAX + 2;
  if (scratch.length < lengthMax) scratch = Buffer.allocUnsafe(lengthMax);
  const text = scratch;
  text[0] = OPEN;
  let at = 1;
  // An iterator would take as long as the digits.
  for (let index = 0; index < vector.length; index++) {
    const value = vector[index] as number;
    const size = Math.abs(value);
    if (at > 1) text[at++] = COMMA;
    if (size >= PLAIN_MIN && size < 1) {
      if (value < 0) text[at++] = MINUS;
      at = writeFraction(text, at, size);
    } else at += text.write(size === 0 ? '0' : String(Number(value.toPrecision(DIGITS))), at, 'latin1');
  }
  text[at++] = CLOSE;
  return Buffer.from(text.subarray(0, at));
}

/** The product is exact: 24 bits of a float32 by at most 28 of a power of five. So it is rounded once, as `toPrecision` does. */
function writeFraction(text: Uint8Array, start: number, size: number): number {
  let at = start;
  text[at++] = ZERO;
  text[at++] = POINT;
  let scale = 1e9;
  if (size < 0.1) {
    const zeros = size >= 0.01 ? 1 : size >= 0.001 ? 2 : 3;
    for (let zero = 0; zero < zeros; zero++) text[at++] = ZERO;
    scale = zeros === 1 ? 1e10 : zeros === 2 ? 1e11 : 1e12;
  }
  const digits = (size * scale + 0.5) | 0;
  const thousands = (digits / 1000) | 0;
  const millions = (thousands / 1000) | 0;
  writeTriple(text, at, millions);
  writeTriple(text, at + 3, thousands - millions * 1000);
  writeTriple(text, at + 6, digits - thousands * 1000);
  at += DIGITS;
  while (text[at - 1] === ZERO) at -= 1;
  return at;
}

function writeTriple(text: Uint8Array, at: number, number: number): void {
  const triple = TRIPLES[number] as number;
  text[at] = triple;
  text[at + 1] = triple >> 8;
  text[at + 2] = triple >> 16;
}
