import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { dequantise, quantise, toQuery } from '../../../src/documents/vectors/quantise.ts';

const vector = fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 384, maxLength: 384 });
const cosine = (one: ArrayLike<number>, other: ArrayLike<number>): number => {
  let [product, ones, others] = [0, 0, 0];
  for (let index = 0; index < one.length; index++) {
    const [a = 0, b = 0] = [one[index], other[index]];
    product += a * b;
    ones += a * a;
    others += b * b;
  }
  return product / Math.sqrt(ones * others);
};

test('a stored vector has unit length, and the direction of the one that was given', () => {
  fc.assert(
    fc.property(vector, (given) => {
      fc.pre(Math.hypot(...given) > 1e-3);
      const stored = dequantise(quantise(given));
      expect(Math.abs(Math.hypot(...stored) - 1)).toBeLessThan(0.1);
      expect(cosine(given, stored)).toBeGreaterThan(0.99);
      const { components, scale } = toQuery(given);
      expect(cosine(given, components)).toBeGreaterThan(0.9999);
      expect(Math.hypot(...components) * scale).toBeCloseTo(1, 2);
    }),
  );
});

test('a vector without a direction is stored as zeros', () => {
  for (const given of [
    [0, 0, 0],
    [Number.NaN, 1],
    [Number.POSITIVE_INFINITY, 1],
  ])
    expect(dequantise(quantise(given)).every((value) => value === 0)).toBe(true);
});
