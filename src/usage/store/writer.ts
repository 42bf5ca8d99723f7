// Rows from the buffer → events, counts and rollups, in one transaction.

import type { EventProjection } from '../../core/event.ts';
import type { Reserved, Sql } from '../../infra/postgres/client.ts';
import { copyIn } from '../../infra/postgres/copy.ts';
import { COPY_HEAD, COPY_TAIL, ROW_COLUMNS } from '../row.ts';
import { STORAGE_LOCK, STRIPES } from './stripes.ts';

export type EventWriter = {
  /** Stores what is not stored yet of the rows, and counts it; all of it, or nothing. */
  store(rows: readonly Buffer[]): Promise<void>;
  close(): void;
};

const COPY_TIMEOUT_MS = 30_000;

/** It has a connection of its own, which holds the staging table. */
export function createEventWriter(sql: Sql, projections: readonly EventProjection[] = []): EventWriter {
  const statement = toStatement(projections);
  let connection: Reserved | undefined;
  let staged = false;

  const release = (): void => {
    connection?.release();
    connection = undefined;
    staged = false;
  };
  const stage = async (tx: Reserved): Promise<void> => {
    if (staged) return;
    await tx.unsafe(`CREATE TEMP TABLE usage_staging (${ROW_COLUMNS.join(', ')}) ON COMMIT DELETE ROWS`);
    staged = true;
  };

  return {
    async store(rows) {
      connection ??= sql.reserve({ onLost: release });
      const tx = connection;
      try {
        await stage(tx);
        await tx.unsafe('BEGIN');
        const bytes = Buffer.concat([COPY_HEAD, ...rows, COPY_TAIL]);
        await copyIn(tx, 'COPY usage_staging FROM STDIN (FORMAT binary)', bytes, COPY_TIMEOUT_MS);
        await tx.unsafe(LOCK_STRIPES);
        await tx.unsafe(statement);
        await tx.unsafe('COMMIT');
      } catch (error) {
        // Whatever state it is in, it is not ours to find out.
        release();
        throw error;
      }
    },
    close: release,
  };
}

/**
 * From here to the commit nobody else stores events of these workspaces: so times of storage ascend from commit to
 * commit, and two who store the same events, or count into the same rows, never wait for each other in a circle.
 */
const LOCK_STRIPES = `
  SELECT pg_advisory_xact_lock(${STORAGE_LOCK}, stripe)
  FROM (SELECT DISTINCT hashtext(workspace_id) & ${STRIPES - 1} AS stripe FROM usage_staging ORDER BY 1) AS touched`;

/** One statement: what was there already is neither stored nor counted again. */
const toStatement = (projections: readonly EventProjection[]): string => `
  WITH batch AS (
    SELECT workspace_id, greatest(
      date_trunc('milliseconds', clock_timestamp() AT TIME ZONE 'UTC'), last + interval '1 millisecond') AS stored_at
    FROM (SELECT DISTINCT workspace_id FROM usage_staging) AS touched
    LEFT JOIN LATERAL (
      SELECT start AS last FROM usage_counts c
      WHERE c.workspace_id = touched.workspace_id AND grain = 0 ORDER BY start DESC LIMIT 1) AS latest ON true),
  stored AS (
    INSERT INTO usage_events
      (workspace_id, created_at, id, event_id, source, type, subject, time, data, extensions, value)
    SELECT s.workspace_id, stored_at, id, event_id, source, type, subject, time, data, extensions, value::numeric
    FROM usage_staging s JOIN batch USING (workspace_id)
    ORDER BY s.workspace_id, event_id, source
    ON CONFLICT (workspace_id, event_id, source) DO NOTHING
    RETURNING workspace_id, created_at, type, source, subject, time, coalesce(value, 0) AS value,
      CASE WHEN type IN (${['', ...projections.map(({ type }) => type)].map((type) => `'${type}'`).join()}) THEN data END AS data),
  ${projections.map(({ statement }, index) => `projected_${index} AS (${statement}),`).join('\n')}
  counted AS (
    INSERT INTO usage_counts AS c (workspace_id, grain, start, events)
    SELECT workspace_id, grain, CASE grain
      WHEN 0 THEN created_at WHEN 60 THEN date_trunc('minute', created_at) ELSE date_trunc('day', created_at) END, events
    FROM (SELECT workspace_id, created_at, count(*) AS events FROM stored GROUP BY 1, 2) AS batches,
      (VALUES (0), (60), (86400)) AS grains (grain)
    ON CONFLICT (workspace_id, grain, start) DO UPDATE SET events = c.events + excluded.events),
  by_source AS (
    INSERT INTO usage_by_source AS r (workspace_id, hour, type, source, events, value)
    SELECT workspace_id, date_trunc('hour', created_at), type, source, count(*), sum(value)
    FROM stored GROUP BY 1, 2, 3, 4
    ON CONFLICT (workspace_id, hour, type, source)
    DO UPDATE SET events = r.events + excluded.events, value = r.value + excluded.value)
  INSERT INTO usage_by_subject AS r (workspace_id, hour, type, subject, events, value)
  SELECT workspace_id, date_trunc('hour', created_at), type, subject, count(*), sum(value)
  FROM stored GROUP BY 1, 2, 3, 4
  ON CONFLICT (workspace_id, hour, type, subject)
  DO UPDATE SET events = r.events + excluded.events, value = r.value + excluded.value`;
