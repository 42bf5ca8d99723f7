/** A durable queue in the database: a job is inserted together with the change that causes it. */
import type { Transaction } from './sql-with-timeout.ts';

export { createJobWorker, type Job, type JobOutcome } from './job-worker.ts';

/**
 * Queues a job for each row of `payloads`, a query with one jsonb column. To be awaited in the caller's transaction, or
 * put into the caller's own statement:
 * `` sql`with gone as (delete … returning id), queued as (${enqueue(sql, kind, payloads)}) select …` ``
 * Wake the worker of the kind after the commit.
 */
export function enqueue(
  sql: Transaction,
  kind: string,
  payloads: ReturnType<Transaction['unsafe']>,
): ReturnType<Transaction['unsafe']> {
  return sql`
    insert into jobs (kind, payload)
    select ${kind}::text, source.payload from (${payloads}) as source (payload)`;
}
