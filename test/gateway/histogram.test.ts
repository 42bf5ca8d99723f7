// Histograms of times: numbers that the database adds up, and percentiles that are exact to the width of a bucket.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  addHistograms,
  histogramOf,
  parseHistogram,
  percentileOf,
} from '../../src/gateway/accounting/histogram.ts';
import { testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';

const database = await shared(testDatabase());

/** As the database makes it of these times. */
async function countsOf(times: readonly number[]): Promise<number[]> {
  const [row] = await database.sql.unsafe<{ histogram: string }[]>(
    `SELECT coalesce(sum(${histogramOf('ms')}), 0)::text AS histogram FROM unnest($1::float8[]) AS ms`,
    [times as number[]],
  );
  return parseHistogram(row?.histogram ?? '');
}

test('a percentile is exact to the width of its bucket, from 1 ms to 12 minutes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.double({ min: 1, max: 700_000, noNaN: true }), { minLength: 1, maxLength: 300 }),
      fc.constantFrom(0.5, 0.95, 0.99),
      async (times, share) => {
        const exact = times.toSorted((a, b) => a - b)[Math.ceil(share * times.length) - 1] ?? 0;
        const found = percentileOf(await countsOf(times), share) ?? 0;
        // The first bucket has all that takes 1 ms or less.
        if (exact === 1) expect(found).toBeLessThanOrEqual(1);
        else expect(Math.abs(Math.log2(found / exact))).toBeLessThanOrEqual(0.5 + 1e-9);
      },
    ),
  );
});

test('the sum of two histograms is the histogram of all times', async () => {
  const [a, b] = [
    [0.5, 3, 3, 900],
    [3, 1e9],
  ] as const;
  expect(addHistograms(await countsOf(a), await countsOf(b))).toEqual(await countsOf([...a, ...b]));
});

test('times at the bounds and outside of them have a bucket', async () => {
  const buckets = await Promise.all(
    [0, 0.01, 1, 1.01, 2, 741_455, 1e12].map(async (ms) => (await countsOf([ms])).indexOf(1)),
  );
  expect(buckets).toEqual([0, 0, 0, 1, 2, 39, 39]);
  expect(percentileOf(await countsOf([]), 0.5)).toBeUndefined();
  expect(percentileOf(await countsOf([1e12]), 0.99)).toBeGreaterThan(500_000);
  expect(percentileOf(await countsOf([0.2, 0.3]), 0.99)).toBeLessThanOrEqual(1);
});
