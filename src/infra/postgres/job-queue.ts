/**
 * A durable queue in the database: a job is inserted together with the change that causes it. The rules for a kind of jobs
 * stand in docs/decisions/018-jobs.md.
 */
import type { Job as Background } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { type Backlog, readBacklog } from './job-lease.ts';
import { createJobWorker, type JobKind } from './job-worker.ts';
import type { Transaction } from './sql-with-timeout.ts';

export type { Job } from './job-lease.ts';
export { createJobWorker } from './job-worker.ts';

export type JobQueue = ReturnType<typeof createJobQueue>;

export function createJobQueue({ sql, log }: { sql: Transaction; log: Logger }) {
  const workers = new Map<string, ReturnType<typeof createJobWorker>>();
  const each = async (work: (worker: ReturnType<typeof createJobWorker>) => void | Promise<void>) => {
    await Promise.all([...workers.values()].map(work));
  };
  return {
    /** Adds a kind, before the start. The function that it returns looks for due jobs at once: something was queued. */
    register(kind: JobKind): () => void {
      if (workers.has(kind.kind)) throw new Error(`The kind ${kind.kind} of jobs has two handlers`);
      const worker = createJobWorker({ ...kind, sql, log });
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
    backlog: (): Promise<Backlog[]> => readBacklog(sql, [...workers.keys()]),
  };
}

/**
 * Queues a job for each row of `payloads`, a query with one jsonb column. To be awaited in the caller's transaction, or
 * put into the caller's own statement:
 * `` sql`with gone as (delete … returning id), queued as (${enqueue(sql, kind, payloads)}) select …` ``
 * Wake the worker of the kind after the commit.
 */
export const enqueue = (
  sql: Transaction,
  kind: string,
  payloads: ReturnType<Transaction['unsafe']>,
): ReturnType<Transaction['unsafe']> => sql`
    insert into jobs (kind, payload)
    select ${kind}::text, source.payload from (${payloads}) as source (payload)`;
