import { expect, test } from 'bun:test';
import { createSignInDelay } from '../../src/access/sign-ins.ts';

/** A delay whose waits are recorded, and end when the test says so; time stands still until it is moved. */
function start() {
  const waits: number[] = [];
  const ends: (() => void)[] = [];
  let nowMs = 0;
  const wait = (ms: number) => {
    waits.push(ms);
    return new Promise<void>((resolve) => ends.push(resolve));
  };
  const delay = createSignInDelay({ wait, now: () => nowMs });
  return { delay, waits, ends, advance: (ms: number) => (nowMs += ms) };
}

test('each failed sign-in delays its answer longer than the one before, up to a ceiling', async () => {
  const { delay, waits, ends, advance } = start();
  for (let at = 0; at < 8; at++) {
    const failure = delay.afterFailure();
    ends.at(-1)?.();
    await failure;
  }
  expect(waits).toEqual([50, 100, 200, 400, 800, 1600, 3000, 3000]);
  advance(60_001);
  void delay.afterFailure();
  expect(waits.at(-1)).toBe(50);
});

test('failures beyond those that wait are refused at once with the time to wait', async () => {
  const { delay, ends } = start();
  const waiting = Array.from({ length: 32 }, () => delay.afterFailure());
  await expect(delay.afterFailure()).rejects.toMatchObject({
    kind: 'too-many-requests',
    retryAfterSeconds: 60,
  });
  ends.shift()?.();
  await waiting[0];
  void delay.afterFailure();
  expect(ends).toHaveLength(32);
});
