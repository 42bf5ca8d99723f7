// A lease covers what it was held for without a break, by a clock that also counts while the process stands still.

import { expect, test } from 'bun:test';
import { ALIVE_MS } from '../../src/chat/limits.ts';
import { createLease } from '../../src/chat/pending-answer.ts';

test('a lease that is renewed in time has no break; one that ran out, or was heard of too late, begins anew', async () => {
  let now = 0;
  const lease = createLease(() => now);
  const renew = (tookMs = 0) =>
    lease.renew(async () => {
      now += tookMs;
    });
  expect(lease.covers(0)).toBe(false);
  now = 1000;
  await renew();
  expect([lease.covers(999), lease.covers(1000)]).toEqual([false, true]);
  now = 1000 + ALIVE_MS - 1;
  expect(lease.covers(1000)).toBe(true);
  await renew();
  now += ALIVE_MS - 1;
  expect(lease.covers(1000)).toBe(true);
  now += 1;
  expect(lease.covers(1000)).toBe(false);
  await renew();
  expect([lease.covers(1000), lease.covers(now)]).toEqual([false, true]);

  // The sign was sent in time, and heard after the one before it had run out.
  const sentAt = now + ALIVE_MS - 2;
  now = sentAt;
  await renew(3);
  expect([lease.covers(sentAt - 1), lease.covers(sentAt)]).toEqual([false, true]);
});

test('a sign that was not heard renews nothing', async () => {
  let now = 0;
  const lease = createLease(() => now);
  await lease.renew(async () => undefined);
  now = ALIVE_MS - 1;
  await expect(lease.renew(() => Promise.reject(new Error('the database is away')))).rejects.toThrow('away');
  expect(lease.covers(0)).toBe(true);
  now = ALIVE_MS;
  expect(lease.covers(0)).toBe(false);
});
