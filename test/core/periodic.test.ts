// A periodic job runs again before its interval where there is more to do, or where it failed.

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
