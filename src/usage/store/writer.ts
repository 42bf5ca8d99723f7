// Rows from the buffer → events, counts and rollups, in one transaction.

import type { EventProjection } from '../../core/event.ts';
import type { Reserved, Sql } from '../../infra/postgres/client.ts';
import { copyIn } from '../../infra/postgres/copy.ts';
import { COPY_HEAD, COPY_TAIL, ROW_COLUMNS } from '../row.ts';
import { STORAGE_LOCK, STRIPES_COUNT } from './lock-stripes.ts';
import { storeStatement } from './statement.ts';

export type EventWriter = ReturnType<typeof createEventWriter>;

const COPY_TIMEOUT_MS = 30_000;

/** The writer has its own connection, which holds the staging table. */
export function createEventWriter(sql: Sql, projections: readonly EventProjection[] = []) {
  const statement = storeStatement('NOT MATERIALIZED (SELECT * FROM usage_staging)', projections);
  // One message: the server has the commit before it takes the locks, so they never wait for this process.
  const completion = [LOCK_STRIPES, statement, 'COMMIT'].join(';');
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
    /** Stores and counts the rows that are not stored yet; all of them, or none. */
    async store(rows: readonly Buffer[]): Promise<void> {
      connection ??= sql.reserve({ onLost: release });
      const tx = connection;
      try {
        await stage(tx);
        await tx.unsafe('BEGIN');
        const bytes = Buffer.concat([COPY_HEAD, ...rows, COPY_TAIL]);
        await copyIn(tx, 'COPY usage_staging FROM STDIN (FORMAT binary)', bytes, COPY_TIMEOUT_MS);
        await tx.unsafe(completion);
      } catch (error) {
        // The connection is released and not used again here, because its state is unknown.
        release();
        throw error;
      }
    },
    close: release,
  };
}

/**
 * Until the commit no other transaction stores events of these workspaces. Therefore times of storage ascend from commit
 * to commit, and two transactions that store the same events, or update the same counts, cannot deadlock.
 */
const LOCK_STRIPES = `
  SELECT pg_advisory_xact_lock(${STORAGE_LOCK}, stripe)
  FROM (SELECT DISTINCT hashtext(workspace_id) & ${STRIPES_COUNT - 1} AS stripe FROM usage_staging ORDER BY 1) AS touched`;
