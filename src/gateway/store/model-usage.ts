import { type BucketRange, bucketsOf } from '../../core/time-buckets.ts';
import type { Sql } from '../../infra/postgres/client.ts';
import { parseHistogram } from '../accounting/histogram.ts';

export const GROUPINGS = ['model', 'target', 'key', 'endpoint', 'outcome', 'hour', 'day'] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** Sums of a window; `group` undefined: of all of it. */
export type ModelUsageRow = {
  group: string;
  requests: number;
  /** Requests that failed or were refused. */
  errors: number;
  estimated: number;
  promptTokens: number;
  completionTokens: number;
  cost: number;
  latencyMs: number;
  firstEvents: number;
  firstEventMs: number;
  /** How the times are distributed (accounting/histogram.ts). */
  latencies: number[];
  firstEventTimes: number[];
};

/** Whole hours, `to` exclusive and open where it is undefined. `keyId`: of this key alone. */
export type ModelUsageWindow = {
  workspaceId: string;
  keyId?: string | undefined;
  from: Date;
  to: Date | undefined;
};

const HOUR = 3600;
const DAY = 86_400;

const HOURS_EXPRESSIONS: Record<Grouping, string> = {
  model: 'model',
  target: 'target',
  key: 'key_id',
  endpoint: 'endpoint',
  outcome: 'outcome',
  hour: `to_char(hour, 'YYYY-MM-DD"T"HH24:00:00"Z"')`,
  day: `to_char(hour, 'YYYY-MM-DD')`,
};

type Sums = Omit<ModelUsageRow, 'latencies' | 'firstEventTimes'> & {
  latencies: string;
  firstEventTimes: string;
};

/** In the order of the groups. Whole days come from the sums of days, which have one dimension at a time. */
export function createModelUsageStore(sql: Sql) {
  const sums = sql`estimated, prompt_tokens, completion_tokens, cost, latency_ms, first_events, first_event_ms,
    latency_histogram, first_event_histogram`;
  const within = (column: 'hour' | 'day', { from, until }: BucketRange) => sql`
    ${from === undefined ? sql`` : sql`AND ${sql(column)} >= ${new Date(from)}`}
    ${until === undefined ? sql`` : sql`AND ${sql(column)} < ${new Date(until)}`}`;
  const ofHours = ({ workspaceId, keyId }: ModelUsageWindow, by: Grouping, range: BucketRange) => sql`
    SELECT ${sql.unsafe(HOURS_EXPRESSIONS[by])} AS "group", requests,
      CASE WHEN outcome IN ('failed', 'refused') THEN requests ELSE 0 END AS errors, ${sums}
    FROM model_usage WHERE workspace_id = ${workspaceId} ${within('hour', range)}
      ${keyId === undefined ? sql`` : sql`AND key_id = ${keyId}`}`;
  const ofDays = ({ workspaceId }: ModelUsageWindow, by: Grouping, range: BucketRange) => sql`
    SELECT ${by === 'day' ? sql`to_char(day, 'YYYY-MM-DD')` : sql`name`} AS "group", requests, errors, ${sums}
    FROM model_usage_days WHERE workspace_id = ${workspaceId}
      AND dimension = ${by === 'day' ? 'all' : by} ${within('day', range)}`;

  return {
    /**
     * Deletes about `limit` rows of sums of whole days before the time; returns how many, 0 when none is left. Those of the current
     * month stay, because budgets count it.
     */
    async deleteSome(before: Date, limit: number): Promise<number> {
      const bound = sql`least(${before.toISOString().slice(0, 10)}::timestamp, date_trunc('month', now() AT TIME ZONE 'UTC'))`;
      for (const [table, column] of [
        ['model_usage', 'hour'],
        ['model_usage_days', 'day'],
      ] as const) {
        const { count } = await sql`
          DELETE FROM ${sql(table)} WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM ${sql(table)} WHERE ${sql(column)} < ${bound} LIMIT ${limit}))`;
        if (count > 0) return count;
      }
      return 0;
    },

    async sum(window: ModelUsageWindow, by: Grouping): Promise<ModelUsageRow[]> {
      // A key has few rows, and an index of its own.
      const hasDays = by !== 'hour' && window.keyId === undefined;
      const grains = hasDays ? [DAY, HOUR] : [HOUR];
      const ranges = bucketsOf(window.from.getTime(), window.to?.getTime(), grains);
      if (ranges.length === 0) return [];
      const parts = ranges.map((range) =>
        range.grain === DAY ? ofDays(window, by, range) : ofHours(window, by, range),
      );
      const rows = await sql<Sums[]>`
        SELECT "group", sum(requests)::float8 AS requests, sum(errors)::float8 AS errors,
          sum(estimated)::float8 AS estimated, sum(prompt_tokens)::float8 AS "promptTokens",
          sum(completion_tokens)::float8 AS "completionTokens", sum(cost)::float8 AS cost,
          sum(latency_ms) AS "latencyMs", sum(first_events)::float8 AS "firstEvents",
          sum(first_event_ms) AS "firstEventMs", sum(latency_histogram)::text AS latencies,
          sum(first_event_histogram)::text AS "firstEventTimes"
        FROM (${parts.reduce((all, part) => sql`${all} UNION ALL ${part}`)}) AS parts
        GROUP BY 1 ORDER BY 1`;
      return rows.map((row) => ({
        ...row,
        latencies: parseHistogram(row.latencies),
        firstEventTimes: parseHistogram(row.firstEventTimes),
      }));
    },
  };
}

export type ModelUsageStore = ReturnType<typeof createModelUsageStore>;
