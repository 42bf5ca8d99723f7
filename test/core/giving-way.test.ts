// Work in the background rests the longer the more requests come, not at all without them, and never stands still.

import { expect, test } from 'bun:test';
import { createGivingWay } from '../../src/core/giving-way.ts';

/** By a clock that stands still but for what the test lets pass, and while the work rests; requests come at an even rate. */
function setting(requestsASecond = 0) {
  let now = 0;
  let rate = requestsASecond;
  let nextRequest = 0;
  const rests: number[] = [];
  const pass = (ms: number): void => {
    const until = now + ms;
    for (; rate > 0 && nextRequest <= until; nextRequest += 1000 / rate) {
      now = Math.max(now, nextRequest);
      givingWay.requestBegan();
    }
    now = until;
  };
  const givingWay = createGivingWay({
    now: () => now,
    async sleep(ms) {
      rests.push(ms);
      pass(ms);
    },
  });
  return {
    rests,
    async steps(count: number, ms: number): Promise<void> {
      for (let step = 0; step < count; step++) {
        pass(ms);
        await givingWay.rest(ms);
      }
    },
    noMoreRequests(): void {
      rate = 0;
    },
  };
}

test('without requests the work does not rest, and for single ones hardly', async () => {
  const idle = setting();
  await idle.steps(50, 100);
  expect(idle.rests).toEqual([]);
  const single = setting(2);
  await single.steps(50, 100);
  expect(Math.max(...single.rests)).toBeLessThan(20);
});

test('the more requests come, the longer it rests; a part of the time stays its own, however many they are', async () => {
  const share = async (requestsASecond: number): Promise<number> => {
    const { rests, steps } = setting(requestsASecond);
    await steps(50, 100);
    return 100 / (100 + (rests.at(-1) ?? 0));
  };
  const shares = [await share(10), await share(50), await share(200), await share(20_000)];
  expect(shares.toSorted((one, other) => other - one)).toEqual(shares);
  expect(shares[0]).toBeGreaterThan(0.6);
  expect(shares[2]).toBeLessThan(0.3);
  expect(shares[3]).toBeGreaterThan(0.1);
});

test('a step that has taken long for another reason is not followed by a rest as long', async () => {
  const { rests, steps } = setting(200);
  await steps(5, 60_000);
  expect(Math.max(...rests)).toBeLessThanOrEqual(1000);
});

test('it works as before when the requests have ended', async () => {
  const { rests, steps, noMoreRequests } = setting(500);
  await steps(50, 100);
  noMoreRequests();
  await steps(50, 100);
  const before = rests.length;
  expect(before).toBeGreaterThan(0);
  await steps(50, 100);
  expect(rests.length).toBe(before);
});
