// Incoming rows → events, counts and rollups.

import type { EventProjection } from '../../core/event.ts';

/**
 * One statement that stores the rows of `incoming`, a common table expression with the columns of row.ts. Existing rows are neither
 * stored nor counted again; with `allNew` it fails for them, and takes the database a third less: no row is looked up before
 * it is inserted, nor kept for the sums. Its transaction holds the locks of the workspaces' stripes.
 */
export const storeStatement = (
  incoming: string,
  projections: readonly EventProjection[],
  allNew = false,
): string => `
  WITH incoming AS ${incoming},
  batch AS (
    SELECT workspace_id, greatest(
      date_trunc('milliseconds', clock_timestamp() AT TIME ZONE 'UTC'), last + interval '1 millisecond') AS stored_at
    FROM (SELECT DISTINCT workspace_id FROM incoming) AS touched
    LEFT JOIN LATERAL (
      SELECT start AS last FROM usage_counts c
      WHERE c.workspace_id = touched.workspace_id AND grain = 0 ORDER BY start DESC LIMIT 1) AS latest ON true),
  ${allNew ? 'inserted' : 'stored'} AS (
    INSERT INTO usage_events
      (workspace_id, created_at, id, event_id, source, type, subject, time, data, extensions, value)
    SELECT s.workspace_id, stored_at, id, event_id, source, type, subject, time, data, extensions, value::numeric
    FROM incoming s JOIN batch USING (workspace_id)
    ORDER BY s.workspace_id, event_id, source ${allNew ? STORED_AS_SENT : UNLESS_STORED}),
  ${projections.map(({ statements }) => `${statements},`).join('')}
  sums AS MATERIALIZED (
    SELECT workspace_id, created_at, type, source, subject, count(*) AS events, sum(value) AS value
    FROM stored GROUP BY 1, 2, 3, 4, 5),
  counted AS (
    INSERT INTO usage_counts AS c (workspace_id, grain, start, events)
    SELECT workspace_id, grain, CASE grain
      WHEN 0 THEN created_at WHEN 60 THEN date_trunc('minute', created_at) ELSE date_trunc('day', created_at) END, events
    FROM (SELECT workspace_id, created_at, sum(events) AS events FROM sums GROUP BY 1, 2) AS batches,
      (VALUES (0), (60), (86400)) AS grains (grain)
    ON CONFLICT (workspace_id, grain, start) DO UPDATE SET events = c.events + excluded.events),
  by_source AS (
    INSERT INTO usage_by_source AS r (workspace_id, hour, type, source, events, value)
    SELECT workspace_id, date_trunc('hour', created_at), type, source, sum(events), sum(value)
    FROM sums GROUP BY 1, 2, 3, 4
    ON CONFLICT (workspace_id, hour, type, source)
    DO UPDATE SET events = r.events + excluded.events, value = r.value + excluded.value)
  INSERT INTO usage_by_subject AS r (workspace_id, hour, type, subject, events, value)
  SELECT workspace_id, date_trunc('hour', created_at), type, subject, sum(events), sum(value)
  FROM sums GROUP BY 1, 2, 3, 4
  ON CONFLICT (workspace_id, hour, type, subject)
  DO UPDATE SET events = r.events + excluded.events, value = r.value + excluded.value`;

const STORED_AS_SENT = `),
  stored AS NOT MATERIALIZED (
    SELECT workspace_id, stored_at AS created_at, type, source, subject, time, coalesce(value::numeric, 0) AS value, data
    FROM incoming JOIN batch USING (workspace_id)`;
const UNLESS_STORED = `ON CONFLICT (workspace_id, event_id, source) DO NOTHING
    RETURNING workspace_id, created_at, type, source, subject, time, coalesce(value, 0) AS value, data`;
