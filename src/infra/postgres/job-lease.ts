/** The statements of the job queue's workers. */
import type { Transaction } from './sql-with-timeout.ts';

export type LeasedJob = { id: number | bigint; payload: unknown; attempts: number };

/** How a leased job went: done, or to be tried again. */
export type Settlement = { job: LeasedJob; retry?: { reason: string; delayMs: number } };

const ERROR_LENGTH_MAX = 1_000;

/** Takes due jobs for as long as the lease lasts; no other worker sees them until then. */
export async function leaseJobs(
  sql: Transaction,
  options: { kind: string; batchMax: number; leaseMs: number },
): Promise<LeasedJob[]> {
  const { kind, batchMax, leaseMs } = options;
  const jobs = await sql<LeasedJob[]>`
    with due as (
      select id from jobs
      where kind = ${kind} and run_at <= now()
      order by run_at, id
      limit ${batchMax}
      for update skip locked
    )
    update jobs set run_at = now() + ${leaseMs}::float8 * interval '1 ms', attempts = attempts + 1
    from due where jobs.id = due.id
    returning jobs.id, jobs.payload, jobs.attempts`;
  return jobs.sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Extends the lease of those that are still ours. */
export async function renewLease(sql: Transaction, jobs: LeasedJob[], leaseMs: number): Promise<void> {
  await sql`
    update jobs set run_at = now() + ${leaseMs}::float8 * interval '1 ms'
    from unnest(${ids(jobs)}::bigint[], ${attempts(jobs)}::int[]) as leased (id, attempts)
    where jobs.id = leased.id and jobs.attempts = leased.attempts`;
}

/** Notes how jobs went. One whose lease ran out, and which another worker has taken since, is left to that. */
export async function settleJobs(sql: Transaction, settlements: Settlement[]): Promise<void> {
  const done = settlements.filter(({ retry }) => retry === undefined).map(({ job }) => job);
  const failed = settlements.filter(({ retry }) => retry !== undefined);
  const failedJobs = failed.map(({ job }) => job);
  const delays = failed.map(({ retry }) => retry?.delayMs ?? 0);
  const reasons = failed.map(
    ({ retry }) => retry?.reason.replaceAll('\0', '').slice(0, ERROR_LENGTH_MAX) ?? '',
  );
  await sql`
    with done as (
      delete from jobs using unnest(${ids(done)}::bigint[], ${attempts(done)}::int[]) as leased (id, attempts)
      where jobs.id = leased.id and jobs.attempts = leased.attempts
    )
    update jobs set run_at = now() + leased.delay * interval '1 ms', last_error = leased.reason
    from unnest(
      ${ids(failedJobs)}::bigint[], ${attempts(failedJobs)}::int[], ${delays}::float8[], ${reasons}::text[]
    ) as leased (id, attempts, delay, reason)
    where jobs.id = leased.id and jobs.attempts = leased.attempts`;
}

const ids = (jobs: LeasedJob[]) => jobs.map(({ id }) => id);
const attempts = (jobs: LeasedJob[]) => jobs.map((job) => job.attempts);
