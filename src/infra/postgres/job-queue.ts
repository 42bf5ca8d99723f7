/**
 * A durable queue in the database: a job is inserted together with the change that causes it. The rules for a kind of jobs
 * stand in docs/decisions/018-jobs.md.
 */
import type { Clock } from '../../core/clock.ts';
import type { Job as Background } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { type Backlog, readBacklog } from './job-lease.ts';
import { createJobWorker, type JobKind } from './job-worker.ts';
import type { Transaction } from './sql-with-timeout.ts';

export type { Job } from './job-lease.ts';
export { createJobWorker } from './job-worker.ts';

export type JobQueue = ReturnType<typeof createJobQueue>;

/** `idleSeconds`: how long ago this process last began jobs of the kind. */
export type QueueState = Backlog & { idleSeconds: number };

export function createJobQueue({ sql, log, clock }: { sql: Transaction; log: Logger; clock: Clock }) {
  const workers = new Map<string, ReturnType<typeof createJobWorker>>();
  const each = async (work: (worker: ReturnType<typeof createJobWorker>) => void | Promise<void>) => {
    await Promise.all([...workers.values()].map(work));
  };
  return {
    /** Adds a kind, before the start. The function that it returns looks for due jobs at once: something was queued. */
    register(kind: JobKind): () => void {
      if (workers.has(kind.kind)) throw new Error(`The kind ${kind.kind} of jobs has two handlers`);
      const worker = createJobWorker({ ...kind, sql, log, clock });
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
    backlog: async (): Promise<QueueState[]> => {
      const kinds = await readBacklog(sql, [...workers.keys()]);
      return kinds.map((each) => ({ ...each, idleSeconds: workers.get(each.kind)?.idleSeconds() ?? 0 }));
    },
  };
}

/**
 * Queues a job for each row of `payloads`, a query with one jsonb column. Jobs of a kind are begun in turn from those of each
 * `workspace` that payloads name, and from those without one. To be awaited in the caller's transaction, or
 * put into the caller's own statement:
 * `` sql`with gone as (delete … returning id), queued as (${enqueue(sql, kind, payloads)}) select …` ``
 * Wake the worker of the kind after the commit.
 */
export const enqueue = (
  sql: Transaction,
  kind: string,
  payloads: ReturnType<Transaction['unsafe']>,
): ReturnType<Transaction['unsafe']> => sql`
    insert into jobs (kind, payload, share)
    select ${kind}::text, source.payload, coalesce(source.payload ->> 'workspace', '')
    from (${payloads}) as source (payload)`;

/** A condition: a job of one of the kinds, whose payload names the `document` of this id, waits or is in hand. */
export const isQueued = (
  sql: Transaction,
  kinds: readonly string[],
  document: ReturnType<Transaction['unsafe']>,
): ReturnType<Transaction['unsafe']> => sql`
    exists (select from jobs where kind = any (${kinds as string[]}::text[])
      and payload ->> 'document' = ${document}::text and run_at < 'infinity')`;
