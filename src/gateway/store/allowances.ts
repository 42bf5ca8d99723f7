import type { Sql } from '../../infra/postgres/client.ts';

/** The reservation of running requests: allowance as milliseconds of its minute, and money. */
type Reserved = { tokensMs: number; cost: number };

/** The report of one process about a key, which also requests the totals of all processes. */
export type Told = {
  keyId: string;
  /** False: it only asks, and nothing is written. */
  hasNews: boolean;
  /** Used since the last report: allowance as milliseconds of its minute, and money in the month. */
  requestsMs: number;
  tokensMs: number;
  month: number;
  spent: number;
  /** All that it has reserved now. */
  reserved: Reserved;
};

/** The use of all processes, and the reservations of the others. */
export type Shared = {
  /** For how long the allowance is spoken for. */
  requestsMs: number;
  tokensMs: number;
  /** Year and month, UTC, and the money spent in it. */
  month: number;
  spent: number;
  /** Until the month turns. */
  monthLeftMs: number;
  elsewhere: Reserved;
};

/** `number` grows from batch to batch. A batch whose answer was lost is sent again with the same number. */
export type Batch = {
  processId: string;
  number: number;
  told: readonly Told[];
  /** The age of the first reported use: the allowance of a minute refills from there. */
  ageMs: number;
  leaseMs: number;
};

export type AllowanceStore = {
  /**
   * Adds the use, replaces the reservations of this process, and returns the totals of all processes, in one statement
   * for any number of keys. A batch counts once, however often it is sent; if it was counted before, nothing changes,
   * and the result is undefined. A reservation that is not renewed within the lease expires.
   */
  share(batch: Batch): Promise<Map<string, Shared> | undefined>;
  /** Raises the spending of these keys, and of those counted with them, to the month's accounts: a process may have died unreported. */
  recover(keys: readonly { keyId: string; of: readonly string[] }[]): Promise<void>;
  /** Deletes void reservations, and the numbers of processes that have not been heard of for a month. */
  sweep(): Promise<void>;
};

type Row = Omit<Shared, 'elsewhere'> & { keyId: string; reservedTokensMs: number; reservedCost: number };

/**
 * Times and months are those of the database's clock, so that machines whose clocks differ agree. `now` (milliseconds
 * since 1970) stands in for it in tests.
 */
export function createAllowanceStore(sql: Sql, { now }: { now?: () => number } = {}): AllowanceStore {
  const moment = () => sql`
    moment AS MATERIALIZED (
      SELECT ms, to_char(at, 'YYYYMM')::int AS month, date_trunc('month', at) AS month_from,
        date_trunc('month', at) + interval '1 month' AS month_to
      FROM (SELECT coalesce(${now?.() ?? null}::float8, extract(epoch FROM clock_timestamp()) * 1000) AS ms) AS clock,
        LATERAL (SELECT to_timestamp(ms / 1000) AT TIME ZONE 'UTC' AS at) AS utc
    )`;
  return {
    async share({ processId, number, told, ageMs, leaseMs }) {
      const numbers = (read: (each: Told) => number): number[] => told.map(read);
      // The process's own row is locked first, then the rows of keys in order, each before its reservations, so that
      // two statements cannot deadlock.
      const rows = await sql<Row[]>`
        WITH ${moment()}, since AS (
          SELECT ms - ${ageMs}::float8 AS ms FROM moment
        ), counted AS (
          INSERT INTO model_allowance_batches AS b (process_id, number, told_at)
          SELECT ${processId}, ${number}::bigint, ms FROM moment
          ON CONFLICT (process_id) DO UPDATE SET number = excluded.number, told_at = excluded.told_at
          WHERE b.number < excluded.number
          RETURNING 1
        ), told AS (
          SELECT t.* FROM counted CROSS JOIN unnest(
            ${told.map(({ keyId }) => keyId)}::text[], ${numbers(({ hasNews }) => Number(hasNews))}::int[],
            ${numbers(({ requestsMs }) => requestsMs)}::float8[], ${numbers(({ tokensMs }) => tokensMs)}::float8[],
            ${numbers(({ month }) => month)}::int[], ${numbers(({ spent }) => spent)}::float8[],
            ${numbers(({ reserved }) => reserved.tokensMs)}::float8[],
            ${numbers(({ reserved }) => reserved.cost)}::float8[])
          AS t (key_id, has_news, requests_ms, tokens_ms, month, spent, reserved_tokens_ms, reserved_cost)
        ), used AS (
          INSERT INTO model_allowances AS a (key_id, requests_at, tokens_at, month, spent)
          SELECT key_id, since.ms + requests_ms, since.ms + tokens_ms, moment.month,
            CASE WHEN told.month = moment.month THEN spent ELSE 0 END
          FROM told, since, moment WHERE has_news = 1 ORDER BY key_id
          ON CONFLICT (key_id) DO UPDATE SET
            requests_at = greatest(a.requests_at - (SELECT ms FROM since), 0) + excluded.requests_at,
            tokens_at = greatest(a.tokens_at - (SELECT ms FROM since), 0) + excluded.tokens_at,
            spent = CASE WHEN a.month = excluded.month THEN a.spent ELSE 0 END + excluded.spent,
            month = excluded.month
          RETURNING key_id, requests_at, tokens_at, month, spent
        ), reserved AS (
          INSERT INTO model_reservations AS r (key_id, process_id, tokens_ms, cost, expires_at)
          SELECT key_id, ${processId}, reserved_tokens_ms, reserved_cost, ms + ${leaseMs}::float8
          FROM told JOIN used USING (key_id), moment WHERE reserved_tokens_ms > 0 OR reserved_cost > 0
          ON CONFLICT (key_id, process_id) DO UPDATE SET
            tokens_ms = excluded.tokens_ms, cost = excluded.cost, expires_at = excluded.expires_at
        ), given_back AS (
          DELETE FROM model_reservations r USING told JOIN used USING (key_id)
          WHERE r.key_id = told.key_id AND r.process_id = ${processId}
            AND reserved_tokens_ms = 0 AND reserved_cost = 0
        )
        SELECT key_id AS "keyId",
          greatest(0, coalesce(used.requests_at, a.requests_at, 0) - ms) AS "requestsMs",
          greatest(0, coalesce(used.tokens_at, a.tokens_at, 0) - ms) AS "tokensMs", moment.month AS month,
          extract(epoch FROM month_to)::float8 * 1000 - ms AS "monthLeftMs",
          coalesce(used.spent, CASE WHEN a.month = moment.month THEN a.spent END, 0) AS spent,
          coalesce(others.tokens_ms, 0) AS "reservedTokensMs", coalesce(others.cost, 0) AS "reservedCost"
        FROM told CROSS JOIN moment LEFT JOIN used USING (key_id) LEFT JOIN model_allowances a USING (key_id)
        CROSS JOIN LATERAL (
          SELECT sum(r.tokens_ms) AS tokens_ms, sum(r.cost) AS cost FROM model_reservations r
          WHERE r.key_id = told.key_id AND r.process_id <> ${processId} AND r.expires_at > ms) AS others`;
      return rows.length === 0 ? undefined : new Map(rows.map((row) => [row.keyId, toShared(row)]));
    },
    async recover(keys) {
      const members = keys.flatMap(({ keyId, of }) => of.map((member) => ({ keyId, member })));
      await sql`
        WITH ${moment()}
        INSERT INTO model_allowances AS a (key_id, requests_at, tokens_at, month, spent)
        SELECT counted.key_id, 0, 0, month, sum(cost)::float8
        FROM unnest(${members.map(({ keyId }) => keyId)}::text[], ${members.map(({ member }) => member)}::text[])
          AS counted (key_id, member)
        JOIN model_usage ON model_usage.key_id = member CROSS JOIN moment
        WHERE hour >= month_from AND hour < month_to
        GROUP BY counted.key_id, month HAVING sum(cost) > 0 ORDER BY counted.key_id
        ON CONFLICT (key_id) DO UPDATE SET spent = excluded.spent, month = excluded.month
        WHERE a.month <> excluded.month OR a.spent < excluded.spent`;
    },
    async sweep() {
      await sql`WITH ${moment()} DELETE FROM model_reservations USING moment WHERE expires_at <= ms`;
      await sql`
        WITH ${moment()} DELETE FROM model_allowance_batches USING moment WHERE told_at < ms - ${NUMBERS_KEPT_MS}::float8`;
    },
  };
}

const NUMBERS_KEPT_MS = 31 * 86_400_000;

const toShared = ({ keyId: _, reservedTokensMs, reservedCost, ...used }: Row): Shared => ({
  ...used,
  elsewhere: { tokensMs: reservedTokensMs, cost: reservedCost },
});
