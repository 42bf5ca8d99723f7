import type { Sql } from '../../infra/postgres/client.ts';

export const GROUPINGS = ['model', 'target', 'key', 'endpoint', 'outcome', 'hour', 'day'] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** Sums of a window; `group` undefined: of all of it. */
export type ModelUsageRow = {
  group: string;
  requests: number;
  estimated: number;
  promptTokens: number;
  completionTokens: number;
  cost: number;
  latencyMs: number;
  firstEvents: number;
  firstEventMs: number;
};

/** `keyId`: of this key alone. */
export type ModelUsageWindow = { workspaceId: string; keyId?: string | undefined; from: Date; to: Date };

const EXPRESSIONS: Record<Grouping, string> = {
  model: 'model',
  target: 'target',
  key: 'key_id',
  endpoint: 'endpoint',
  outcome: 'outcome',
  hour: `to_char(hour, 'YYYY-MM-DD"T"HH24:00:00"Z"')`,
  day: `to_char(hour, 'YYYY-MM-DD')`,
};

/** Whole hours, `to` exclusive; in the order of the groups. */
export function createModelUsageStore(sql: Sql) {
  return {
    sum: async ({ workspaceId, keyId, from, to }: ModelUsageWindow, by: Grouping): Promise<ModelUsageRow[]> =>
      sql<ModelUsageRow[]>`
        SELECT ${sql.unsafe(EXPRESSIONS[by])} AS "group", sum(requests)::float8 AS requests,
          sum(estimated)::float8 AS estimated, sum(prompt_tokens)::float8 AS "promptTokens",
          sum(completion_tokens)::float8 AS "completionTokens", sum(cost)::float8 AS cost,
          sum(latency_ms) AS "latencyMs", sum(first_events)::float8 AS "firstEvents",
          sum(first_event_ms) AS "firstEventMs"
        FROM model_usage
        WHERE workspace_id = ${workspaceId} AND hour >= ${from} AND hour < ${to}
          ${keyId === undefined ? sql`` : sql`AND key_id = ${keyId}`}
        GROUP BY 1 ORDER BY 1`,
  };
}

export type ModelUsageStore = ReturnType<typeof createModelUsageStore>;
