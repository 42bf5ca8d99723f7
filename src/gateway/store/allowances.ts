import type { Sql } from '../../infra/postgres/client.ts';
import type { Others, Report } from '../allowance.ts';
import { ALLOWANCE_LEASE_MS } from '../limits.ts';

/** What a process says of a key. */
export type Sent = {
  keyId: string;
  /** False: it only asks, and nothing is written. */
  hasNews: boolean;
  report: Report;
  /** The keys whose usage records are summed; null where they are not asked for. */
  recordsOf: readonly string[] | null;
};

type Row = Omit<Others, 'reserved'> & { keyId: string; reservedTokensMs: number; reservedCost: number };

export type AllowanceStore = Pick<ReturnType<typeof createAllowanceStore>, 'exchange' | 'sweep'>;

/**
 * Times and months are those of the database's clock, so that machines whose clocks differ agree. `now` (milliseconds
 * since 1970) stands in for it in tests.
 */
export function createAllowanceStore(sql: Sql, { now }: { now?: () => number } = {}) {
  const moment = () => sql`
    moment AS MATERIALIZED (
      SELECT ms, to_char(at, 'YYYYMM')::int AS month, date_trunc('month', at) AS month_from,
        date_trunc('month', at) + interval '1 month' AS month_to
      FROM (SELECT coalesce(${now?.() ?? null}::float8, extract(epoch FROM clock_timestamp()) * 1000) AS ms) AS clock,
        LATERAL (SELECT to_timestamp(ms / 1000) AT TIME ZONE 'UTC' AS at) AS utc
    )`;
  return {
    /**
     * Writes the counters of this process, and returns the sums of the others in the month that is now, for any number of keys.
     * Counters are absolute: a statement that is repeated, or comes late, changes nothing. A reservation that is not renewed within the
     * lease is void. Each process writes rows of its own, so statements never wait for one another.
     */
    async exchange(sent: readonly Sent[]): Promise<Map<string, Others>> {
      const json = JSON.stringify(
        sent.map(({ keyId, hasNews, recordsOf, report }) => ({ keyId, hasNews, recordsOf, report })),
      );
      const rows = await sql<Row[]>`
        WITH ${moment()}, sent AS MATERIALIZED (
          SELECT "keyId" AS key_id, "hasNews" AS has_news, "recordsOf" AS records_of, r.*
          FROM json_to_recordset(${json}::text::json)
            AS s ("keyId" text, "hasNews" boolean, "recordsOf" text[], report json),
          LATERAL json_to_record(report) AS r ("counterId" text, month int, "requestsMs" float8, "tokensMs" float8,
            spent float8, "requestsLeftMs" float8, "tokensLeftMs" float8, reserved json)
        ), written AS (
          INSERT INTO model_allowances AS a (key_id, month, counter_id, requests_ms, tokens_ms, spent, requests_at,
            tokens_at, reserved_tokens_ms, reserved_cost, told_at)
          SELECT key_id, sent.month, "counterId", "requestsMs", "tokensMs", spent, ms + "requestsLeftMs",
            ms + "tokensLeftMs", (reserved->>'tokensMs')::float8, (reserved->>'cost')::float8, ms
          FROM sent, moment WHERE has_news
          ON CONFLICT (key_id, month, counter_id) DO UPDATE SET
            requests_ms = greatest(a.requests_ms, excluded.requests_ms),
            tokens_ms = greatest(a.tokens_ms, excluded.tokens_ms), spent = greatest(a.spent, excluded.spent),
            requests_at = excluded.requests_at, tokens_at = excluded.tokens_at,
            reserved_tokens_ms = excluded.reserved_tokens_ms, reserved_cost = excluded.reserved_cost,
            told_at = excluded.told_at
        )
        SELECT key_id AS "keyId", moment.month, extract(epoch FROM month_to)::float8 * 1000 - ms AS "monthLeftMs",
          others.*, records.recorded
        FROM sent CROSS JOIN moment CROSS JOIN LATERAL (
          SELECT coalesce(sum(requests_ms), 0) AS "requestsMs", coalesce(sum(tokens_ms), 0) AS "tokensMs",
            coalesce(sum(a.spent), 0) AS spent, coalesce(max(requests_at) - ms, 0) AS "requestsLeftMs",
            coalesce(max(tokens_at) - ms, 0) AS "tokensLeftMs",
            coalesce(sum(reserved_tokens_ms) FILTER (WHERE told_at > ms - ${ALLOWANCE_LEASE_MS}), 0) AS "reservedTokensMs",
            coalesce(sum(reserved_cost) FILTER (WHERE told_at > ms - ${ALLOWANCE_LEASE_MS}), 0) AS "reservedCost"
          FROM model_allowances a
          WHERE a.key_id = sent.key_id AND a.month = moment.month AND counter_id <> "counterId") AS others
        LEFT JOIN LATERAL (
          SELECT coalesce(sum(cost), 0)::float8 AS recorded FROM model_usage
          WHERE key_id = ANY (records_of) AND hour >= month_from AND hour < month_to) AS records
          ON records_of IS NOT NULL`;
      return new Map(
        rows.map(({ keyId, reservedTokensMs: tokensMs, reservedCost: cost, ...others }) => [
          keyId,
          { ...others, reserved: { tokensMs, cost } },
        ]),
      );
    },

    /** Deletes the counters of the months before the last one. */
    async sweep(): Promise<void> {
      await sql`WITH ${moment()}
        DELETE FROM model_allowances USING moment
        WHERE model_allowances.month < to_char(month_from - interval '1 month', 'YYYYMM')::int`;
    },
  };
}
