// The verdict on memory over time: it finds growth, and takes no wave or noise for it.

import { expect, test } from 'bun:test';
import { type Point, slopeOf, slopeOfSecondHalf } from '../../bench/lib/slope.ts';
import { createRandom } from '../../bench/search/random.ts';

const HOUR_MS = 3_600_000;
const SECONDS = 900;

/** A quarter of an hour of memory: a saw of collections every half a minute, noise, and `perHour` of growth. */
function memory(perHour: number): Point[] {
  const random = createRandom(1, 2, 3);
  return Array.from({ length: SECONDS }, (_, second) => ({
    at: second * 1000,
    value: 200 + (second % 31) + 10 * random() + (perHour * second * 1000) / HOUR_MS,
  }));
}

test('a saw without growth is 0 within noise', () => {
  const slope = slopeOf(memory(0));
  expect(slope.verdict).toBe('0 within noise');
  expect(slope.halfWidth).toBeLessThan(60);
});

test.each([
  [100, 'grows'],
  [-100, 'falls'],
] as const)('a slope of %p MiB an hour is found', (perHour, verdict) => {
  const slope = slopeOf(memory(perHour));
  expect(slope.verdict).toBe(verdict);
  expect(Math.abs(slope.perHour - perHour)).toBeLessThan(slope.halfWidth * 2);
});

test('what the first half does is not counted', () => {
  const filling = memory(0).map(({ at, value }, index) => ({ at, value: value + Math.min(index, 400) }));
  expect(slopeOf(filling).verdict).toBe('grows');
  expect(slopeOfSecondHalf(filling).verdict).toBe('0 within noise');
});

test('few points say nothing', () => {
  expect(slopeOf(memory(0).slice(0, 20)).verdict).toBe('too short to say');
});
