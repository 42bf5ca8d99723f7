// How long a request may wait: bursts are served, a line that stays is shortened.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createDelay } from '../../../src/http/admission/delay.ts';

const BOUNDS = { burstMs: 5000, overloadMs: 250, standingMs: 1000, shortLine: 0 };

test('a line that has just come may be waited in for long', () => {
  const delay = createDelay(BOUNDS);
  delay.note(1, 100);
  delay.note(50, 900);
  expect(delay.allowedMs(1099)).toBe(5000);
});

test('one that stays is overload, until it is empty', () => {
  const delay = createDelay(BOUNDS);
  delay.note(1, 100);
  expect(delay.allowedMs(1100)).toBe(250);
  delay.note(3, 1200);
  expect(delay.allowedMs(1300)).toBe(250);
  delay.note(0, 1400);
  delay.note(5, 1401);
  expect(delay.allowedMs(1500)).toBe(5000);
});

test('a short line is no overload, however long it stays', () => {
  const delay = createDelay({ ...BOUNDS, shortLine: 20 });
  delay.note(20, 100);
  delay.note(3, 5000);
  expect(delay.allowedMs(60_000)).toBe(5000);
  delay.note(21, 60_000);
  expect(delay.allowedMs(61_000)).toBe(250);
  delay.note(20, 61_001);
  expect(delay.allowedMs(61_002)).toBe(5000);
});

/** A server that answers a request a step, at open-loop arrivals; returns the waits of those that it has begun. */
function simulate(arrivalsPerStep: readonly number[], stepMs: number) {
  const delay = createDelay(BOUNDS);
  const line: number[] = [];
  const waits: number[] = [];
  let refused = 0;
  for (const [step, arrivals] of arrivalsPerStep.entries()) {
    const nowMs = step * stepMs;
    for (let each = 0; each < arrivals; each++) line.push(nowMs);
    delay.note(line.length, nowMs);
    const allowed = delay.allowedMs(nowMs);
    while (line[0] !== undefined && nowMs - line[0] >= allowed) {
      line.shift();
      refused++;
    }
    const begun = line.shift();
    if (begun !== undefined) waits.push(nowMs - begun);
    delay.note(line.length, nowMs);
  }
  return { waits, refused, left: line.length };
}

test('a burst of less than a second of work loses nothing, however it comes', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(40), { maxLength: 20 }), (bursts) => {
      // Each of them is worked off before the next.
      const arrivals = bursts.flatMap((size) => [size, ...Array.from({ length: size + 1 }, () => 0)]);
      expect(simulate(arrivals, 20).refused).toBe(0);
    }),
  );
});

test('at a load beyond capacity the server is never idle, and waits become as short as they should be', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 10 }), fc.integer({ min: 1, max: 50 }), (load, stepMs) => {
      const steps = Math.ceil(20_000 / stepMs);
      const { waits, refused, left } = simulate(
        Array.from({ length: steps }, () => load),
        stepMs,
      );
      expect(waits).toHaveLength(steps);
      expect(refused + left + waits.length).toBe(load * steps);
      for (const wait of waits.slice(Math.ceil(2000 / stepMs)))
        expect(wait).toBeLessThanOrEqual(250 + stepMs);
    }),
  );
});
