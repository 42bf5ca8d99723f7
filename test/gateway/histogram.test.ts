// Histograms of times: numbers that add up, and percentiles that are exact to the width of a bucket.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  addHistograms,
  BUCKETS_COUNT,
  bucketOf,
  parseHistogram,
  percentileOf,
  renderHistogram,
} from '../../src/gateway/accounting/sums.ts';

const histogramOf = (times: readonly number[]): number[] => {
  const counts = new Array<number>(BUCKETS_COUNT).fill(0);
  for (const ms of times) counts[bucketOf(ms)] = (counts[bucketOf(ms)] ?? 0) + 1;
  return counts;
};
const COUNTS = fc.array(fc.integer({ min: 0, max: 4_000_000_000 }), {
  minLength: BUCKETS_COUNT,
  maxLength: BUCKETS_COUNT,
});

test('a histogram is read as it was written', () => {
  fc.assert(fc.property(COUNTS, (counts) => expect(parseHistogram(renderHistogram(counts))).toEqual(counts)));
  expect(renderHistogram(histogramOf([]))).toBe('0');
  expect(parseHistogram('0')).toEqual(histogramOf([]));
});

test('the sum of the numbers is the number of the sum, and a difference likewise', () => {
  fc.assert(
    fc.property(COUNTS, COUNTS, (a, b) => {
      const sum = renderHistogram(addHistograms(a, b));
      expect(BigInt(renderHistogram(a)) + BigInt(renderHistogram(b))).toBe(BigInt(sum));
    }),
  );
});

test('a percentile is exact to the width of its bucket, from 1 ms to 12 minutes', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 1, max: 700_000, noNaN: true }), { minLength: 1, maxLength: 300 }),
      fc.constantFrom(0.5, 0.95, 0.99),
      (times, share) => {
        const exact = times.toSorted((a, b) => a - b)[Math.ceil(share * times.length) - 1] ?? 0;
        const found = percentileOf(histogramOf(times), share) ?? 0;
        // The first bucket has all that takes 1 ms or less.
        if (exact === 1) expect(found).toBeLessThanOrEqual(1);
        else expect(Math.abs(Math.log2(found / exact))).toBeLessThanOrEqual(0.5 + 1e-9);
      },
    ),
  );
});

test('times at the bounds and outside of them have a bucket', () => {
  expect([0, 0.01, 1, 1.01, 2, 741_455, 1e12].map(bucketOf)).toEqual([0, 0, 0, 1, 2, 39, 39]);
  expect(percentileOf(histogramOf([]), 0.5)).toBeUndefined();
  expect(percentileOf(histogramOf([1e12]), 0.99)).toBeGreaterThan(500_000);
  expect(percentileOf(histogramOf([0.2, 0.3]), 0.99)).toBeLessThanOrEqual(1);
});
