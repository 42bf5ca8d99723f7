/** The statements of the job queue's workers. */
import type { Fragment, Transaction } from './tag.ts';

/** `attempts`: how often it has been begun, this time included; `share`: with which others it takes turns. */
export type Job = { id: number | bigint; payload: unknown; attempts: number; share: string };

/** How a leased job went: done, or left to be begun again after the delay, without one never; with the reason where it failed. */
export type Settlement = { job: Job; left?: { reason?: string; delayMs: number | undefined } };

const COUNT_MAX = 10_000;

const ERROR_LENGTH_MAX = 1_000;

/**
 * Takes due jobs for as long as the lease lasts; no other worker sees them until then. Those of the share after `after`
 * come first, and its own last.
 */
export async function leaseJobs(
  sql: Transaction,
  options: { kind: string; batchMax: number; leaseMs: number; after: string },
): Promise<Job[]> {
  const { kind, batchMax, leaseMs, after } = options;
  const dueOf = (shares: Fragment) => sql`
    select id from (
      select id from jobs where kind = ${kind} and ${shares} and run_at <= now()
      order by share, run_at, id limit ${batchMax} for update skip locked) as due`;
  const jobs = await sql<Job[]>`
    with due as (
      ${dueOf(sql`share > ${after}`)} union all ${dueOf(sql`share <= ${after}`)} limit ${batchMax}
    )
    update jobs set run_at = now() + ${leaseMs}::float8 * interval '1 ms', attempts = attempts + 1
    from due where jobs.id = due.id
    returning jobs.id, jobs.payload, jobs.attempts, jobs.share`;
  return jobs.sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Extends the leases of the jobs that this process still holds. */
export async function renewLease(sql: Transaction, jobs: Job[], leaseMs: number): Promise<void> {
  await sql`
    update jobs set run_at = now() + ${leaseMs}::float8 * interval '1 ms'
    from unnest(${ids(jobs)}::bigint[], ${attempts(jobs)}::int[]) as leased (id, attempts)
    where jobs.id = leased.id and jobs.attempts = leased.attempts`;
}

/**
 * Notes how jobs went. Those that failed share one turn from now on, so that they hold up no job that was not begun yet. One whose
 * lease ran out, and which another worker has taken since, is left to that.
 */
export async function settleJobs(sql: Transaction, settlements: Settlement[]): Promise<void> {
  const done = settlements.filter(({ left }) => left === undefined).map(({ job }) => job);
  const left = settlements.filter((settlement) => settlement.left !== undefined);
  const leftJobs = left.map(({ job }) => job);
  const delays = left.map((each) => each.left?.delayMs ?? null);
  const reasons = left.map(
    (each) => each.left?.reason?.replaceAll('\0', '').slice(0, ERROR_LENGTH_MAX) ?? null,
  );
  await sql`
    with done as (
      delete from jobs using unnest(${ids(done)}::bigint[], ${attempts(done)}::int[]) as leased (id, attempts)
      where jobs.id = leased.id and jobs.attempts = leased.attempts
    )
    update jobs set last_error = leased.reason, share = case when leased.reason is null then share else '' end,
      run_at = case when leased.delay is null then 'infinity' else now() + leased.delay * interval '1 ms' end
    from unnest(
      ${ids(leftJobs)}::bigint[], ${attempts(leftJobs)}::int[], ${delays}::float8[], ${reasons}::text[]
    ) as leased (id, attempts, delay, reason)
    where jobs.id = leased.id and jobs.attempts = leased.attempts`;
}

/** For each of the kinds, how many wait, for how long the first of them has been due, and how many are given up; each counted up to 10,000. */
export async function readBacklog(sql: Transaction, kinds: readonly string[]) {
  return sql<{ kind: string; waiting: number; lagSeconds: number; givenUp: number }[]>`
    select kinds.kind, waiting.count::int as waiting, given_up.count::int as "givenUp",
      coalesce(extract(epoch from now() - waiting.first), 0)::float8 as "lagSeconds"
    from unnest(${kinds}::text[]) as kinds (kind)
    cross join lateral (
      select count(*), min(run_at) filter (where run_at <= now()) as first from (
        select run_at from jobs where kind = kinds.kind and run_at < 'infinity' order by run_at limit ${COUNT_MAX}
      ) as counted
    ) as waiting
    cross join lateral (
      select count(*) from (
        select from jobs where kind = kinds.kind and run_at = 'infinity' limit ${COUNT_MAX}
      ) as counted
    ) as given_up`;
}

/**
 * Queues a job for each row of `payloads`, a query with one jsonb column. Jobs of a kind are begun in turn from those of each
 * `workspace` that payloads name, and from those without one. To be awaited in the caller's transaction, or
 * put into the caller's own statement:
 * `` sql`with gone as (delete … returning id), queued as (${enqueue(sql, kind, payloads)}) select …` ``
 * Wake the worker of the kind after the commit.
 */
export const enqueue = (sql: Transaction, kind: string, payloads: Fragment): Fragment => sql`
    insert into jobs (kind, payload, share)
    select ${kind}::text, source.payload, coalesce(source.payload ->> 'workspace', '')
    from (${payloads}) as source (payload)`;

/** A condition: a job of one of the kinds, whose payload names the `document` of this id, waits or is in hand. */
export const isQueued = (sql: Transaction, kinds: readonly string[], document: Fragment): Fragment => sql`
    exists (select from jobs where kind = any (${kinds as string[]}::text[])
      and payload ->> 'document' = ${document}::text and run_at < 'infinity')`;

const ids = (jobs: Job[]) => jobs.map(({ id }) => id);
const attempts = (jobs: Job[]) => jobs.map((job) => job.attempts);
