/** The loop that does the jobs of one kind, in each process; processes share the work. */

import type { Clock } from '../../core/clock.ts';
import { inTurn } from '../../core/periodic.ts';
import { beginTrace, endingWith } from '../../core/tracing.ts';
import { createPause, endsWithin } from '../../core/wait.ts';
import { type Job, leaseJobs, renewLease, type Settlement, settleJobs } from './job-lease.ts';
import type { Transaction } from './sql-with-timeout.ts';
import { withDeadline } from './unavailable.ts';

/**
 * `again`: a part of it is done, and the rest is begun when the others that are due have had their turn. `retry` is the reason why it
 * has to be tried again, as long as its kind has attempts left.
 */
export type JobOutcome = 'done' | 'again' | { retry: string };

export type JobKind = {
  kind: string;
  /** Jobs in a batch at most. */
  batchMax: number;
  /** Does the jobs and returns their outcomes, in their order. Rejecting means that all failed. */
  handle: (jobs: Job[]) => Promise<readonly JobOutcome[]>;
  /** How often to look for jobs that are due again or that were not announced. */
  pollMs: number;
  /** How long the jobs of a worker that died stay with it (default 30 s). */
  leaseMs?: number;
  /**
   * How often a job is begun at most, with those attempts that ended with their process. One that has failed so often is
   * given up: it stays in the table, is not begun again, and is counted in /readyz.
   */
  attemptsMax: number;
};

export type JobWorkerOptions = JobKind & {
  sql: Transaction;
  clock: Clock;
  log: { warn(fields: object, message: string): void };
};

const LEASE_MS = 30_000;
const HANDLE_TIMEOUT_MS = 600_000;
const STOP_TIMEOUT_MS = 10_000;
const RETRY_DELAY_MS_MIN = 1_000;
const RETRY_DELAY_MS_MAX = 300_000;
const OUTAGE_DELAY_MS_MIN = 250;
const OUTAGE_DELAY_MS_MAX = 5_000;

/**
 * Every job is done at least once, and again until it succeeds or is given up, with growing delays of up to 5 minutes. It is done
 * twice where its worker dies, or loses the database for longer than the lease, before that it was done is noted;
 * it is never in two workers' hands at a time while its own can renew the lease.
 */
export function createJobWorker(options: JobWorkerOptions) {
  let begunAt = options.clock.now().getTime();
  const workBatch = createBatch(options, () => {
    begunAt = options.clock.now().getTime();
  });
  let stopping = false;
  let running: Promise<void> | undefined;

  const pause = createPause();

  const run = async () => {
    let outageDelayMs = OUTAGE_DELAY_MS_MIN;
    let work = (): Promise<number> => inTurn(workBatch);
    while (!stopping) {
      try {
        const count = await work();
        work = workBatch;
        outageDelayMs = OUTAGE_DELAY_MS_MIN;
        if (count < options.batchMax) await pause.take(options.pollMs);
      } catch (error) {
        // Once an outage.
        if (outageDelayMs === OUTAGE_DELAY_MS_MIN)
          options.log.warn({ err: error, kind: options.kind }, 'the job queue is out of reach');
        await pause.take(outageDelayMs);
        outageDelayMs = Math.min(OUTAGE_DELAY_MS_MAX, outageDelayMs * 2);
      }
    }
  };

  return {
    start(): void {
      stopping = false;
      running ??= run();
    },
    /** Waits for the batch in hand, for at most 10 s. */
    async stop(): Promise<void> {
      stopping = true;
      pause.wake();
      await endsWithin(running ?? Promise.resolve(), STOP_TIMEOUT_MS);
      running = undefined;
    },
    /** Looks for due jobs at once: something was queued. */
    wake: pause.wake,
    /** How long ago it last began a batch, or was made. */
    idleSeconds: (): number => (options.clock.now().getTime() - begunAt) / 1000,
    /** Works until nothing is due, the batch in hand included. Rejects when the database is unavailable. */
    async drain(): Promise<void> {
      while ((await workBatch()) > 0);
    },
  };
}

/** One batch after the other: `drain` waits for the loop's, too. `begun` is called with each batch that holds a job. */
function createBatch(options: JobWorkerOptions, begun: () => void): () => Promise<number> {
  const { sql, kind, batchMax, leaseMs = LEASE_MS } = options;
  let previous: Promise<unknown> = Promise.resolve();
  /** The share that had its turn last. */
  let after = '';
  /** Outcomes that could not be noted yet. */
  let unsettled: Settlement[] = [];

  const settle = async () => {
    if (unsettled.length === 0) return;
    await settleJobs(sql, unsettled);
    unsettled = [];
  };
  const workBatch = async (): Promise<number> => {
    await settle();
    const jobs = await leaseJobs(sql, { kind, batchMax, leaseMs, after });
    if (jobs.length === 0) return 0;
    after = jobs.at(-1)?.share ?? '';
    begun();
    const renewal = setInterval(() => void renewLease(sql, jobs, leaseMs).catch(() => {}), leaseMs / 3);
    try {
      unsettled = await handleJobs(options, jobs);
    } finally {
      clearInterval(renewal);
    }
    await settle();
    return jobs.length;
  };
  return () => {
    const batch = previous.then(workBatch);
    previous = batch.catch(() => {});
    return batch;
  };
}

async function handleJobs(options: JobWorkerOptions, jobs: Job[]): Promise<Settlement[]> {
  const begun = jobs.filter(({ attempts }) => attempts <= options.attemptsMax);
  const spent = jobs.filter(({ attempts }) => attempts > options.attemptsMax);
  const outcomes = begun.length === 0 ? [] : await outcomesOf(options, begun);
  return [
    ...begun.map((job, index) => {
      const outcome = outcomes[index] ?? { retry: 'the handler reported nothing' };
      if (outcome === 'done') return { job };
      return outcome === 'again' ? { job, left: { delayMs: 0 } } : fail(options, job, outcome.retry);
    }),
    ...spent.map((job) => fail(options, job, 'the last attempt ended with its process')),
  ];
}

async function outcomesOf(options: JobWorkerOptions, jobs: Job[]): Promise<readonly JobOutcome[]> {
  const span = beginTrace(`job ${options.kind}`, () => ({
    attributes: { 'atrium.job.kind': options.kind, 'atrium.job.count': jobs.length },
  }));
  try {
    const tookTooLong = () => new Error(`not done within ${HANDLE_TIMEOUT_MS} ms`);
    return await endingWith(span, () => withDeadline(options.handle(jobs), HANDLE_TIMEOUT_MS, tookTooLong));
  } catch (error) {
    options.log.warn({ err: error, kind: options.kind, jobs: jobs.length }, 'a batch of jobs failed');
    return jobs.map(() => ({ retry: String(error) }));
  }
}

function fail({ kind, attemptsMax, log }: JobWorkerOptions, job: Job, reason: string): Settlement {
  if (job.attempts < attemptsMax) return { job, left: { reason, delayMs: retryDelayMs(job.attempts) } };
  log.warn({ kind, job: String(job.id), reason }, 'a job is given up after its last attempt');
  return { job, left: { reason, delayMs: undefined } };
}

/** Doubles with each attempt; a random part is taken off, so that what failed together does not return together. */
function retryDelayMs(attempts: number): number {
  const delayMs = Math.min(RETRY_DELAY_MS_MAX, RETRY_DELAY_MS_MIN * 2 ** Math.min(attempts - 1, 30));
  return delayMs * (0.5 + Math.random() / 2);
}
