// Every job that was committed is done, whoever dies meanwhile, and never by two at a time.

import { afterEach, beforeEach, expect, test } from 'bun:test';
import { join } from 'node:path';
import { systemClock } from '../../src/core/clock.ts';
import type { Sql, Transaction } from '../../src/infra/postgres/client.ts';
import {
  createJobQueue,
  createJobWorker,
  enqueue,
  type Job,
  type JobOutcome,
  type JobWorkerOptions,
} from '../../src/infra/postgres/job-queue.ts';
import { createQueuedWork } from '../../src/infrastructure.ts';
import { eventually, startChild } from '../support/child.ts';
import { connectTo, silentLog, type TestDatabase, testDatabase } from '../support/database.ts';

let database: TestDatabase;
let sql: Sql;
beforeEach(async () => {
  database = await testDatabase();
  sql = database.sql;
});
afterEach(() => database.drop());

const numberOf = (job: Job): number => (job.payload as { n: number }).n;
const queue = (n: number, kind = 'count', tx: Transaction = sql) =>
  enqueue(tx, kind, tx`select jsonb_build_object('n', ${n}::int)`);
const queued = async (): Promise<number> => (await sql`select from jobs`).length;
const workerOf = (handle: JobWorkerOptions['handle'], options: Partial<JobWorkerOptions> = {}) =>
  createJobWorker({
    sql,
    clock: systemClock,
    kind: 'count',
    batchMax: 10,
    handle,
    log: silentLog,
    pollMs: 60_000,
    attemptsMax: Number.POSITIVE_INFINITY,
    ...options,
  });
const allDone = (jobs: Job[]): JobOutcome[] => jobs.map(() => 'done');

test('jobs of the kind are handed over in batches, in order, and gone when done', async () => {
  for (let n = 0; n < 25; n += 1) await queue(n);
  await queue(99, 'other');
  const batches: number[][] = [];
  await workerOf(async (jobs) => {
    batches.push(jobs.map(numberOf));
    return allDone(jobs);
  }).drain();
  expect(batches.map(({ length }) => length)).toEqual([10, 10, 5]);
  expect(batches.flat()).toEqual(Array.from({ length: 25 }, (_, n) => n));
  expect(await queued()).toBe(1);
});

test('a job exists if and only if the transaction that queued it was committed', async () => {
  await sql.begin(async (tx) => {
    await queue(1, 'count', tx);
  });
  await sql
    .begin(async (tx) => {
      await queue(2, 'count', tx);
      throw new Error('changed my mind');
    })
    .catch(() => {});
  const rows = await sql`select payload from jobs`;
  expect(rows).toMatchObject([{ payload: { n: 1 } }]);
});

test('jobs can be queued by the statement that causes them', async () => {
  await sql`create table things (n int)`;
  await sql`insert into things select generate_series(1, 3)`;
  const payloads = sql`select jsonb_build_object('n', n) from gone`;
  await sql`
    with gone as (delete from things where n < 3 returning n), queued as (${enqueue(sql, 'count', payloads)})
    select count(*) from gone`;
  const seen: number[] = [];
  await workerOf(async (jobs) => {
    seen.push(...jobs.map(numberOf));
    return allDone(jobs);
  }).drain();
  expect(seen.sort()).toEqual([1, 2]);
});

test('a job is not begun before its time', async () => {
  await queue(1);
  await sql`update jobs set run_at = now() + interval '1 minute'`;
  await workerOf(async () => expect.unreachable()).drain();
  expect(await queued()).toBe(1);
});

test('what fails is tried again later, each time later; the rest of its batch is done', async () => {
  for (const n of [1, 2, 3]) await queue(n);
  await workerOf(async (jobs) =>
    jobs.map((job) => (numberOf(job) === 2 ? { retry: 'not yet' } : 'done')),
  ).drain();
  const [row] = await sql<{ attempts: number; last_error: string; wait: number }[]>`
    select attempts, last_error, extract(epoch from run_at - now())::float8 as wait from jobs`;
  expect(row).toMatchObject({ attempts: 1, last_error: 'not yet' });
  expect(row?.wait).toBeLessThanOrEqual(1);

  await sql`update jobs set attempts = 40, run_at = now()`;
  await workerOf(async () => Promise.reject(new Error('out of order'))).drain();
  const [later] = await sql<{ attempts: number; last_error: string; wait: number }[]>`
    select attempts, last_error, extract(epoch from run_at - now())::float8 as wait from jobs`;
  expect(later).toMatchObject({ attempts: 41, last_error: 'Error: out of order' });
  expect(later?.wait).toBeGreaterThan(140);
  expect(later?.wait).toBeLessThanOrEqual(300);
});

test('a job of which a part is done goes on when the others that are due have had their turn', async () => {
  for (const n of [1, 2, 3]) await queue(n);
  const begun: number[] = [];
  const handle = async (jobs: Job[]): Promise<JobOutcome[]> => {
    begun.push(...jobs.map(numberOf));
    return jobs.map((job) => (numberOf(job) === 1 && job.attempts < 3 ? 'again' : 'done'));
  };
  await workerOf(handle, { batchMax: 1 }).drain();
  expect(begun).toEqual([1, 2, 3, 1, 1]);
  expect(await queued()).toBe(0);
});

test('what fails at each attempt is given up after the last, and stays with its reason', async () => {
  await queue(1);
  const begun: number[] = [];
  const worker = workerOf(
    async (jobs) => {
      begun.push(...jobs.map(({ attempts }) => attempts));
      return jobs.map(() => ({ retry: 'it is damaged' }));
    },
    { attemptsMax: 3 },
  );
  for (let round = 0; round < 5; round += 1) {
    await worker.drain();
    await sql`update jobs set run_at = now() where run_at < 'infinity'`;
  }
  expect(begun).toEqual([1, 2, 3]);
  const rows = await sql`select run_at = 'infinity' as given_up, last_error from jobs`;
  expect([...rows]).toEqual([{ given_up: true, last_error: 'it is damaged' }]);
});

test('a job that ended each process that began it is given up without another attempt', async () => {
  for (const n of [1, 2]) await queue(n);
  await sql`update jobs set attempts = 3 where payload = '{"n": 1}'`;
  const seen: number[] = [];
  const handle = async (jobs: Job[]) => {
    seen.push(...jobs.map(numberOf));
    return allDone(jobs);
  };
  await workerOf(handle, { attemptsMax: 3 }).drain();
  expect(seen).toEqual([2]);
  const rows = await sql`select payload, last_error from jobs where run_at = 'infinity'`;
  expect([...rows]).toEqual([{ payload: { n: 1 }, last_error: 'the last attempt ended with its process' }]);
});

test('one queue works all kinds off, a slow one beside the others, and counts what each has left', async () => {
  const jobs = createJobQueue({ sql, log: silentLog, clock: systemClock });
  const slow = Promise.withResolvers<void>();
  const kind = { batchMax: 10, pollMs: 60_000, attemptsMax: 1 };
  jobs.register({
    ...kind,
    kind: 'slow',
    handle: async (batch) => {
      await slow.promise;
      return allDone(batch);
    },
  });
  jobs.register({ ...kind, kind: 'count', handle: async (batch) => batch.map(() => ({ retry: 'no' })) });
  expect(() => jobs.register({ ...kind, kind: 'count', handle: async () => [] })).toThrow('two handlers');
  for (const name of ['slow', 'count', 'count', 'unknown']) await queue(1, name);
  await sql`update jobs set run_at = now() - interval '1 hour' where kind = 'slow'`;
  const before = await jobs.backlog();
  const idleSeconds = expect.any(Number);
  expect([...before]).toEqual([
    { kind: 'slow', waiting: 1, lagSeconds: expect.closeTo(3600, -2), givenUp: 0, idleSeconds },
    { kind: 'count', waiting: 2, lagSeconds: expect.any(Number), givenUp: 0, idleSeconds },
  ]);
  await jobs.job.start();
  const countOf = async () => (await jobs.backlog()).find((each) => each.kind === 'count');
  await eventually('the end of the quick ones', async () => (await countOf())?.givenUp === 2);
  expect(await countOf()).toEqual({ kind: 'count', waiting: 0, lagSeconds: 0, givenUp: 2, idleSeconds });
  slow.resolve();
  await eventually('the end of the slow one', async () => (await queued()) === 3);
  await jobs.job.stop();
});

test('a long backlog is ready while it is worked off, and degraded when nothing of it is begun for five minutes', async () => {
  let passedMs = 0;
  const clock = { now: () => new Date(Date.now() + passedMs) };
  const jobs = createJobQueue({ sql, log: silentLog, clock });
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let begun = 0;
  jobs.register({
    kind: 'read',
    batchMax: 1,
    pollMs: 60_000,
    attemptsMax: 1,
    handle: async (batch) => {
      await gates[begun++]?.promise;
      return allDone(batch);
    },
  });
  const state = async () => createQueuedWork(jobs).checks[0]?.check();
  for (let n = 0; n < 3; n += 1) await queue(n, 'read');
  await sql`update jobs set run_at = now() - interval '1 hour'`;
  await jobs.job.start();
  const lag_seconds = expect.closeTo(3600, -2);
  await eventually('the first one', () => begun === 1);
  expect(await state()).toEqual({
    state: 'ready',
    kinds: { read: { waiting: 3, lag_seconds, late: false, given_up: 0 } },
  });
  passedMs += 301_000;
  expect(await state()).toEqual({
    state: 'degraded',
    detail: 'jobs wait for too long: read',
    kinds: { read: { waiting: 3, lag_seconds, late: true, given_up: 0 } },
  });
  gates[0]?.resolve();
  await eventually('the second one', () => begun === 2);
  expect(await state()).toMatchObject({ state: 'ready', kinds: { read: { waiting: 2, late: false } } });
  for (const gate of gates) gate.resolve();
  await eventually('the end', async () => (await queued()) === 0);
  await jobs.job.stop();
});

const queueFor = (workspace: string, n: number) =>
  enqueue(sql, 'count', sql`select jsonb_build_object('n', ${n}::int, 'workspace', ${workspace}::text)`);

test('many jobs of one workspace hold up the first of another by one job', async () => {
  for (let n = 0; n < 20; n += 1) await queueFor('b', n);
  const seen: number[] = [];
  const worker = workerOf(
    async (jobs) => {
      seen.push(...jobs.map(numberOf));
      if (seen.length === 5)
        for (const [at, workspace] of ['a', 'c'].entries()) await queueFor(workspace, 100 + at);
      return allDone(jobs);
    },
    { batchMax: 1 },
  );
  await worker.drain();
  expect(new Set(seen.slice(5, 8))).toEqual(new Set([5, 100, 101]));
  expect(seen.filter((n) => n < 100)).toEqual(Array.from({ length: 20 }, (_, n) => n));
});

test('jobs that fail are tried again in a turn of their own, and hold up no other by more than one', async () => {
  for (let n = 0; n < 6; n += 1) await queueFor('a', n);
  const seen: number[] = [];
  const worker = workerOf(
    async (jobs) => {
      seen.push(...jobs.map(numberOf));
      await sql`update jobs set run_at = now() where attempts > 0 and share = ''`;
      return jobs.map((job) => (numberOf(job) < 3 && seen.length < 12 ? { retry: 'it hangs' } : 'done'));
    },
    { batchMax: 1 },
  );
  worker.start();
  await eventually('the last to be begun', () => seen.includes(5));
  // Between two that were not begun before, there is one that was.
  const firsts = [0, 1, 2, 3, 4, 5].map((n) => seen.indexOf(n));
  expect(firsts.every((at, n) => n === 0 || at - (firsts[n - 1] ?? 0) <= 2)).toBe(true);
  await worker.stop();
});

test('two workers share the work: each job once, none at the same time as itself', async () => {
  for (let n = 0; n < 200; n += 1) await queue(n);
  const times = new Map<number, number>();
  const inHand = new Set<number>();
  const handle = async (jobs: Job[]) => {
    for (const job of jobs) {
      expect(inHand.has(numberOf(job))).toBe(false);
      inHand.add(numberOf(job));
      times.set(numberOf(job), (times.get(numberOf(job)) ?? 0) + 1);
    }
    // Longer than the lease, which is renewed.
    if (times.size <= 20) await Bun.sleep(4000);
    for (const job of jobs) inHand.delete(numberOf(job));
    return allDone(jobs);
  };
  const workers = [workerOf(handle, { leaseMs: 3000 }), workerOf(handle, { leaseMs: 3000 })];
  await Promise.all(workers.map((worker) => worker.drain()));
  expect(times.size).toBe(200);
  expect(new Set(times.values())).toEqual(new Set([1]));
  expect(await queued()).toBe(0);
});

test('a batch that takes longer than its lease stays with its worker', async () => {
  await queue(1);
  const other = workerOf(async () => expect.unreachable());
  const seen: number[] = [];
  const worker = workerOf(
    async (jobs) => {
      const overAt = performance.now() + 4000;
      while (performance.now() < overAt) {
        await other.drain();
        await Bun.sleep(20);
      }
      seen.push(...jobs.map(numberOf));
      return allDone(jobs);
    },
    { leaseMs: 3000 },
  );
  await worker.drain();
  expect([seen, await queued()]).toEqual([[1], 0]);
});

test('a batch that is done, or has failed, has its lease renewed no longer', async () => {
  for (const handle of [
    async (jobs: Job[]) => allDone(jobs),
    async () => Promise.reject(new Error('broken')),
  ]) {
    await queue(1);
    let statements = 0;
    const counted = new Proxy(sql, {
      apply(target, self, words) {
        statements += 1;
        return Reflect.apply(target, self, words);
      },
    });
    await workerOf(handle, { sql: counted, leaseMs: 30 }).drain();
    const afterwards = statements;
    // Nothing is to happen: ten renewals would.
    await Bun.sleep(100);
    expect(statements).toBe(afterwards);
  }
});

test('wake begins at once, drain waits for the batch in hand, stop ends the loop', async () => {
  const seen: number[] = [];
  const worker = workerOf(async (jobs) => {
    await Bun.sleep(50);
    seen.push(...jobs.map(numberOf));
    return allDone(jobs);
  });
  worker.start();
  await worker.drain();
  await queue(1);
  worker.wake();
  await eventually('the job', () => seen.includes(1));
  await queue(2);
  worker.wake();
  await worker.drain();
  expect(seen).toEqual([1, 2]);
  await worker.stop();
  await queue(3);
  worker.wake();
  await Bun.sleep(0);
  expect(await queued()).toBe(1);
});

test('a worker that loses its connection goes on by itself', async () => {
  const own = connectTo(database.url, { applicationName: 'loses', connectionsMax: 2 });
  const seen: number[] = [];
  const worker = workerOf(
    async (jobs) => {
      await sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'loses'`;
      seen.push(...jobs.map(numberOf));
      return allDone(jobs);
    },
    { sql: own, pollMs: 50 },
  );
  await queue(1);
  worker.start();
  await eventually('the end of the job', async () => (await queued()) === 0);
  expect(seen).toEqual([1]);
  await worker.stop();
  await own.end({ timeout: 1 });
});

test.each(['SIGKILL', 'SIGSTOP'] as const)(
  'the jobs of a process that %s met are done by another',
  async (signal) => {
    for (let n = 0; n < 5; n += 1) await queue(n);
    const source = join(import.meta.dir, '../../src/infra/postgres');
    const script = `const { connectPostgres } = await import(process.env.SOURCE + '/client.ts');
    const { createJobWorker } = await import(process.env.SOURCE + '/job-queue.ts');
    const log = { info() {}, warn() {} };
    const sql = connectPostgres({ url: process.env.URL, applicationName: 'victim', log });
    const handle = async (jobs) => { console.log('took ' + jobs.length); await Bun.sleep(60_000); };
    const clock = { now: () => new Date() };
    createJobWorker({ sql, clock, kind: 'count', batchMax: 3, handle, log, pollMs: 1000, leaseMs: 4000, attemptsMax: 9 }).start();`;
    const victim = startChild([process.execPath, '-e', script], {
      environment: { SOURCE: source, URL: database.url },
    });
    await eventually('the batch', () => victim.output().includes('took 3'));
    const seen: number[] = [];
    const worker = workerOf(
      async (jobs) => {
        seen.push(...jobs.map(numberOf));
        return allDone(jobs);
      },
      { pollMs: 50 },
    );
    worker.start();
    // Seen is not done: what is done is gone from the queue.
    await eventually('the end of the other jobs', async () => (await queued()) === 3);
    expect(seen).toHaveLength(2);
    victim.kill(signal);
    await eventually('all jobs', async () => (await queued()) === 0);
    expect(seen.sort()).toEqual([0, 1, 2, 3, 4]);
    await worker.stop();
    victim.kill('SIGKILL');
    await victim.exited;
  },
);
