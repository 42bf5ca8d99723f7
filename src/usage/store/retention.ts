// Deletes expired events, together with their counts.

import type { Sql } from '../../infra/postgres/client.ts';

/**
 * Deletes whole batches with their counts in one transaction, so that a total always equals the number of stored events.
 * Rollups are kept.
 */
export function createRetention(sql: Sql) {
  return {
    /** Deletes about `limit` events that were stored before the time; returns how many, 0 when none is left. */
    async deleteSome(before: Date, limit: number): Promise<number> {
      const bound = before.toISOString().slice(0, -1);
      const [row] = await sql<{ events: number }[]>`
        WITH workspace AS (
          SELECT workspace_id FROM usage_counts WHERE grain = 0 AND start < ${bound}::timestamp LIMIT 1),
        oldest AS (
          SELECT workspace_id, start, events FROM usage_counts JOIN workspace USING (workspace_id)
          WHERE grain = 0 AND start < ${bound}::timestamp ORDER BY start LIMIT ${limit}),
        due AS (
          SELECT workspace_id, start, events FROM (
            SELECT *, sum(events) OVER (ORDER BY start) - events AS earlier FROM oldest) AS summed
          WHERE earlier < ${limit}),
        uncounted AS (
          DELETE FROM usage_counts c USING due
          WHERE c.workspace_id = due.workspace_id AND c.grain = 0 AND c.start = due.start),
        fewer AS (
          UPDATE usage_counts c SET events = c.events - gone.events
          FROM (
            SELECT workspace_id, 60 AS grain, date_trunc('minute', start) AS start, sum(events)::bigint AS events
            FROM due GROUP BY 1, 3
            UNION ALL
            SELECT workspace_id, 86400, date_trunc('day', start), sum(events)::bigint FROM due GROUP BY 1, 3) AS gone
          WHERE c.workspace_id = gone.workspace_id AND c.grain = gone.grain AND c.start = gone.start),
        deleted AS (
          DELETE FROM usage_events e USING due
          WHERE e.workspace_id = due.workspace_id AND e.created_at = due.start)
        SELECT coalesce(sum(events), 0)::bigint AS events FROM due`;
      return row?.events ?? 0;
    },
  };
}
