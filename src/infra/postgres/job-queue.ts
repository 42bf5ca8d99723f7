/** A durable queue in the database: a job is inserted together with the change that causes it. */
import type { Transaction } from './supervised-sql.ts';

export { createJobWorker, type Job, type JobOutcome } from './job-worker.ts';

/**
 * Queues a job in the caller's transaction (or at once, with the pool). Wake the worker of its kind after the commit.
 *
 * @param job.runAt not before then (default: now)
 */
export async function enqueue(
  tx: Transaction,
  job: { kind: string; payload: object; runAt?: Date },
): Promise<void> {
  const { kind, payload, runAt = null } = job;
  await tx`
    insert into jobs (kind, payload, run_at)
    values (${kind}, ${tx.json(payload as never)}, coalesce(${runAt}::timestamptz, now()))`;
}

/**
 * The same as a part of the caller's own statement:
 * `` sql`with gone as (delete … returning id), queued as (${enqueueFragment(sql, kind, payloads)}) select …` ``
 *
 * @param payloads a query with one jsonb column and a row for each job
 */
export function enqueueFragment(
  sql: Transaction,
  kind: string,
  payloads: ReturnType<Transaction['unsafe']>,
): ReturnType<Transaction['unsafe']> {
  return sql`
    insert into jobs (kind, payload)
    select ${kind}::text, source.payload from (${payloads}) as source (payload)`;
}
