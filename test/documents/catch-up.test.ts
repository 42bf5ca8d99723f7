// The jobs that catch up go on: past documents that the store does not hand out, and where another process ends.

import { expect, test } from 'bun:test';
import { systemClock } from '../../src/core/clock.ts';
import { EARLIER_READING } from '../../src/documents/content/queueing.ts';
import { createCatchUp, createCatchUpJob } from '../../src/documents/jobs/catch-up.ts';
import { exclusively } from '../../src/infra/postgres/exclusive.ts';
import { createJobQueue, enqueue } from '../../src/infra/postgres/job-queue.ts';
import { eventually } from '../support/child.ts';
import { silentLog, testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';

const { sql } = await shared(testDatabase());

test('a document that is refused each time is tried again later, and the others are read meanwhile', async () => {
  const queue = createJobQueue({ sql, log: silentLog, clock: systemClock });
  const [begun, read] = [new Set<number>(), new Set<number>()];
  const wake = queue.register({
    kind: EARLIER_READING,
    batchMax: 1,
    pollMs: 50,
    attemptsMax: Number.POSITIVE_INFINITY,
    handle: async (jobs) =>
      jobs.map(({ payload }) => {
        const { n } = payload as { n: number };
        begun.add(n);
        // Of each batch, one that the store always refuses.
        if (n % 10 === 3) return { retry: 'the object store answers 403' };
        read.add(n);
        return 'done';
      }),
  });
  let next = 0;
  const catchUp = createCatchUp({
    kind: EARLIER_READING,
    queue,
    wake,
    async queueSome() {
      for (let end = next + 10; next < end; next++)
        await enqueue(
          sql,
          EARLIER_READING,
          sql`select jsonb_build_object('n', ${next}::int, 'workspace', 'acme')`,
        );
      return { queued: 10, next: next < 50 ? String(next) : undefined };
    },
  });
  queue.job.start();
  const stopped = new AbortController();
  const walk = catchUp(stopped.signal);
  await eventually('the others to be read', () => read.size === 45, 60_000);
  await walk;
  stopped.abort();
  await queue.job.stop();
  expect(begun.size).toBe(50);
});

test('one that finds its lock held runs soon after that is free', async () => {
  const name = 'documents.test-catch-up';
  const dead = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const holder = exclusively(sql, name, async () => {
    held.resolve();
    await dead.promise;
  });
  await held.promise;
  let ran = false;
  const run = async (): Promise<void> => {
    ran = true;
  };
  const job = createCatchUpJob({ sql, name, intervalMs: 3_600_000, run, log: silentLog as never });
  await job.start();
  await job.settle?.();
  expect(ran).toBeFalse();
  dead.resolve();
  await holder;
  await eventually('the run', () => ran);
  await job.stop();
});
