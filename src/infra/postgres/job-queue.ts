/**
 * A durable queue in the database: a job is inserted together with the change that causes it. The rules for a kind of jobs
 * stand in docs/decisions/018-jobs.md.
 */
import type { Clock } from '../../core/clock.ts';
import type { Job as Background } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { inTurn } from '../../core/periodic.ts';
import { beginTrace, endingWith } from '../../core/tracing.ts';
import { createPause, endsWithin } from '../../core/wait.ts';
import { type Job, leaseJobs, readBacklog, renewLease, type Settlement, settleJobs } from './job-store.ts';
import type { Transaction } from './tag.ts';
import { withDeadline } from './unavailable.ts';

export { enqueue, isQueued, type Job } from './job-store.ts';

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

type QueueDeps = { sql: Transaction; log: Pick<Logger, 'warn'>; clock: Clock };
export type JobWorkerOptions = JobKind & QueueDeps;

export type JobQueue = ReturnType<typeof createJobQueue>;
export type QueueState = Awaited<ReturnType<JobQueue['backlog']>>[number];

const LEASE_MS = 30_000;
const HANDLE_TIMEOUT_MS = 600_000;
const STOP_TIMEOUT_MS = 10_000;
const RETRY_DELAY_MS_MIN = 1_000;
const RETRY_DELAY_MS_MAX = 300_000;
const OUTAGE_DELAY_MS_MIN = 250;
const OUTAGE_DELAY_MS_MAX = 5_000;

export function createJobQueue(deps: QueueDeps) {
  const workers = new Map<string, ReturnType<typeof createJobWorker>>();
  const each = async (work: (worker: ReturnType<typeof createJobWorker>) => void | Promise<void>) => {
    await Promise.all([...workers.values()].map(work));
  };
  return {
    /** Adds a kind, before the start. The function that it returns looks for due jobs at once: something was queued. */
    register(kind: JobKind): () => void {
      if (workers.has(kind.kind)) throw new Error(`The kind ${kind.kind} of jobs has two handlers`);
      const worker = createJobWorker({ ...kind, ...deps });
      workers.set(kind.kind, worker);
      return worker.wake;
    },
    /** Works all kinds off, each in its own turn: a slow one does not hold up the others. */
    job: {
      name: 'postgres.jobs',
      start: () => each(({ start }) => start()),
      stop: () => each(({ stop }) => stop()),
      settle: () => each(({ drain }) => drain()),
    } satisfies Background,
    /** `idleSeconds`: how long ago this process last began jobs of the kind. */
    async backlog() {
      const kinds = await readBacklog(deps.sql, [...workers.keys()]);
      return kinds.map((state) => ({ ...state, idleSeconds: workers.get(state.kind)?.idleSeconds() ?? 0 }));
    },
  };
}

/**
 * The loop that does the jobs of one kind, in each process; processes share the work. Every job is done at least once, and again until
 * it succeeds or is given up, with growing delays of up to 5 minutes. It is done twice where its worker dies, or loses the database
 * for longer than the lease, before that it was done is noted.
 */
export function createJobWorker(options: JobWorkerOptions) {
  const { sql, clock, log, kind, batchMax, pollMs, leaseMs = LEASE_MS } = options;
  const pause = createPause();
  let begunAt = clock.now().getTime();
  let stopping = false;
  let running: Promise<void> | undefined;
  let previous: Promise<unknown> = Promise.resolve();
  /** The share that had its turn last. */
  let after = '';
  /** Outcomes that could not be noted yet. */
  let unsettled: Settlement[] = [];

  const settle = async (): Promise<void> => {
    if (unsettled.length > 0) await settleJobs(sql, unsettled);
    unsettled = [];
  };
  const workBatch = async (): Promise<number> => {
    await settle();
    const jobs = await leaseJobs(sql, { kind, batchMax, leaseMs, after });
    if (jobs.length === 0) return 0;
    after = jobs.at(-1)?.share ?? '';
    begunAt = clock.now().getTime();
    const renewal = setInterval(() => void renewLease(sql, jobs, leaseMs).catch(() => {}), leaseMs / 3);
    unsettled = await handleJobs(options, jobs);
    clearInterval(renewal);
    await settle();
    return jobs.length;
  };
  /** One batch after the other: `drain` waits for the loop's, too. */
  const work = (): Promise<number> => {
    const batch = previous.then(workBatch);
    previous = batch.catch(() => {});
    return batch;
  };
  const run = async (): Promise<void> => {
    let outageDelayMs = OUTAGE_DELAY_MS_MIN;
    for (let begin = () => inTurn(work); !stopping; begin = work) {
      try {
        const count = await begin();
        outageDelayMs = OUTAGE_DELAY_MS_MIN;
        if (count < batchMax) await pause.take(pollMs);
      } catch (error) {
        // Once an outage.
        if (outageDelayMs === OUTAGE_DELAY_MS_MIN)
          log.warn({ err: error, kind }, 'the job queue is out of reach');
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
    idleSeconds: (): number => (clock.now().getTime() - begunAt) / 1000,
    /** Works until nothing is due, the batch in hand included. Rejects when the database is unavailable. */
    async drain(): Promise<void> {
      while ((await work()) > 0);
    },
  };
}

/** Never rejects. Jobs whose attempts are spent already ended with their process. */
async function handleJobs(options: JobWorkerOptions, jobs: Job[]): Promise<Settlement[]> {
  const begun = jobs.filter(({ attempts }) => attempts <= options.attemptsMax);
  const outcomes = begun.length === 0 ? [] : await outcomesOf(options, begun);
  const byJob = new Map(begun.map((job, index) => [job, outcomes[index]]));
  return jobs.map((job) => {
    if (!byJob.has(job)) return fail(options, job, 'the last attempt ended with its process');
    const outcome = byJob.get(job) ?? { retry: 'the handler reported nothing' };
    if (outcome === 'done') return { job };
    return outcome === 'again' ? { job, left: { delayMs: 0 } } : fail(options, job, outcome.retry);
  });
}

async function outcomesOf({ kind, handle, log }: JobWorkerOptions, jobs: Job[]) {
  const attributes = { 'atrium.job.kind': kind, 'atrium.job.count': jobs.length };
  const span = beginTrace(`job ${kind}`, () => ({ attributes }));
  try {
    const tookTooLong = () => new Error(`not done within ${HANDLE_TIMEOUT_MS} ms`);
    return await endingWith(span, () => withDeadline(handle(jobs), HANDLE_TIMEOUT_MS, tookTooLong));
  } catch (error) {
    log.warn({ err: error, kind, jobs: jobs.length }, 'a batch of jobs failed');
    return jobs.map(() => ({ retry: String(error) }));
  }
}

/** Pauses double with each attempt; a random part is taken off, so that what failed together does not return together. */
function fail({ kind, attemptsMax, log }: JobWorkerOptions, job: Job, reason: string): Settlement {
  if (job.attempts < attemptsMax) {
    const delayMs = Math.min(RETRY_DELAY_MS_MAX, RETRY_DELAY_MS_MIN * 2 ** Math.min(job.attempts - 1, 30));
    return { job, left: { reason, delayMs: delayMs * (0.5 + Math.random() / 2) } };
  }
  log.warn({ kind, job: String(job.id), reason }, 'a job is given up after its last attempt');
  return { job, left: { reason, delayMs: undefined } };
}
