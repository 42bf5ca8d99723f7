// A periodic job runs again before its interval where there is more to do, or where it failed; one with a delay leaves the start alone.

import { expect, test } from 'bun:test';
import { createPeriodic } from '../../src/core/periodic.ts';
import { eventually } from '../support/child.ts';
import { silentLog } from '../support/database.ts';

const HOUR_MS = 3_600_000;

test('a run that has more to do, or that failed, is followed by others until one has done all', async () => {
  const outcomes: (() => Promise<unknown>)[] = [
    async () => 'again',
    () => Promise.reject(new Error('the database is away')),
    async () => undefined,
  ];
  let runs = 0;
  const job = createPeriodic({
    name: 'test',
    intervalMs: HOUR_MS,
    run: async () => outcomes[runs++]?.(),
    log: silentLog as never,
  });
  await job.start();
  await eventually('the runs', () => runs === outcomes.length);
  await job.stop();
  expect(runs).toBe(outcomes.length);
});

test('a job with a delay is not run by the start, and waits no longer than for its interval', async () => {
  let runs = 0;
  const run = async (): Promise<void> => {
    runs += 1;
  };
  const jobOf = (delays: { intervalMs: number; delayMs?: number }) =>
    createPeriodic({ name: 'test', run, log: silentLog as never, ...delays });
  const delayed = jobOf({ intervalMs: HOUR_MS, delayMs: HOUR_MS });
  await delayed.start();
  await delayed.stop();
  expect(runs).toBe(0);
  const prompt = jobOf({ intervalMs: HOUR_MS });
  await prompt.start();
  await prompt.stop();
  expect(runs).toBe(1);
  const often = jobOf({ intervalMs: 1, delayMs: HOUR_MS });
  await often.start();
  await eventually('a run', () => runs > 1);
  await often.stop();
});

test('jobs that are started together run one after the other, and one that takes long holds up the next for a moment', async () => {
  const events: string[] = [];
  const slow = Promise.withResolvers<void>();
  const jobOf = (name: string, run: () => Promise<unknown>) =>
    createPeriodic({
      name,
      intervalMs: HOUR_MS,
      async run() {
        events.push(`${name} begins`);
        await run();
        events.push(`${name} ends`);
      },
      log: silentLog as never,
    });
  const jobs = [
    jobOf('first', () => Bun.sleep(5)),
    jobOf('second', () => slow.promise),
    jobOf('third', async () => undefined),
  ];
  for (const job of jobs) await job.start();
  await eventually('the third run', () => events.includes('third ends'));
  slow.resolve();
  for (const job of jobs) await job.stop();
  expect(events).toEqual([
    'first begins',
    'first ends',
    'second begins',
    'third begins',
    'third ends',
    'second ends',
  ]);
});
