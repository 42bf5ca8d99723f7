// The text of vectors is that of each number rounded to nine significant digits, which gives every float32 back.

import { expect, test } from 'bun:test';
import { vectorText } from '../../src/gateway/local/vector-text.ts';

const plainText = (vector: Float32Array): string =>
  JSON.stringify([...vector].map((value) => Number(value.toPrecision(9))));

/** Floats by their bits, in steps that meet every exponent and many mantissas. */
function* floats(): Generator<number> {
  const [bits, value] = [new Uint32Array(1), new Float32Array(1)];
  for (let number = 0; number < 2 ** 31; number += 200_003) {
    bits[0] = number;
    value.set(new Float32Array(bits.buffer));
    const [float = 0] = value;
    if (Number.isFinite(float)) yield float;
  }
}

test('every number is written as it is rounded, and is read as the same float32', () => {
  const edges = [
    0, -0, 1, 0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-7, 0.5, 0.25, 0.30000001192092896, 0.99999994, 1e30,
  ];
  const vector = new Float32Array([...edges, ...floats()].flatMap((value) => [value, -value]));
  const text = Buffer.from(vectorText(vector)).toString();
  expect(text === plainText(vector)).toBeTrue();
  expect(new Float32Array(JSON.parse(text) as number[])).toEqual(vector.map((value) => value + 0));
});

test('an empty vector is an empty list', () => {
  expect(Buffer.from(vectorText(new Float32Array(0))).toString()).toBe('[]');
});
