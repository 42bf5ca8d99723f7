// Deletes expired events, together with their counts, and expired sums.

import type { Sql } from '../../infra/postgres/client.ts';

/**
 * Deletes whole batches with their counts in one transaction, so that a total always equals the number of stored events.
 * Rollups are kept.
 */
export function createRetention(sql: Sql) {
  /** Counts of minutes and days whose events are all gone, and dead letters, which are events that the database refused. */
  const forgetRest = async (bound: string): Promise<void> => {
    await sql`DELETE FROM usage_counts WHERE grain > 0 AND events = 0 AND start < ${bound}::timestamp - interval '1 day'`;
    await sql`DELETE FROM usage_dead_letters WHERE created_at < ${bound}::timestamp AT TIME ZONE 'UTC'`;
  };

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
      const events = row?.events ?? 0;
      if (events === 0) await forgetRest(bound);
      return events;
    },

    /** Deletes about `limit` rows of sums of whole days before the time; returns how many, 0 when none is left. */
    async deleteSomeSums(before: Date, limit: number): Promise<number> {
      const bound = before.toISOString().slice(0, 10);
      for (const table of ['usage_by_source', 'usage_by_subject']) {
        const { count } = await sql`
          DELETE FROM ${sql(table)} WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM ${sql(table)} WHERE hour < ${bound}::timestamp LIMIT ${limit}))`;
        if (count > 0) return count;
      }
      return 0;
    },
  };
}
