// Rows from the buffer → events, counts and rollups, in one transaction.

import { codeOf } from '../../core/errors.ts';
import type { EventProjection } from '../../core/event.ts';
import type { Reserved, Sql } from '../../infra/postgres/client.ts';
import { copyIn } from '../../infra/postgres/copy.ts';
import { COPY_HEAD, COPY_TAIL, ROW_COLUMNS } from '../row.ts';
import { lockStripes } from './lock-stripes.ts';
import { storeStatement } from './statement.ts';

export type EventWriter = ReturnType<typeof createEventWriter>;

const COPY_TIMEOUT_MS = 30_000;
const DUPLICATE = '23505';
/** How long rows are checked one by one after a batch had one that was stored already: such a batch is written twice. */
const REPEATED_MS = 60_000;

/** The writer has its own connection, which holds the staging table. */
export function createEventWriter(sql: Sql, projections: readonly EventProjection[] = []) {
  // One message: the server has the commit before it takes the locks, so they never wait for this process.
  const [ifAllNew = '', always = ''] = [true, false].map((allNew) => {
    const statement = storeStatement('NOT MATERIALIZED (SELECT * FROM usage_staging)', projections, allNew);
    return [lockStripes('usage_staging'), statement, 'COMMIT'].join(';');
  });
  /** Until when rows are expected to be there already: they come again after a crash, or from a client that tries again. */
  let repeatedUntil = Number.NEGATIVE_INFINITY;
  let connection: Reserved | undefined;
  let staged = false;

  const release = (): void => {
    connection?.release();
    connection = undefined;
    staged = false;
  };
  const write = async (bytes: Uint8Array, completion: string): Promise<void> => {
    connection ??= sql.reserve({ onLost: release });
    const tx = connection;
    try {
      if (!staged)
        await tx.unsafe(`CREATE TEMP TABLE usage_staging (${ROW_COLUMNS.join(', ')}) ON COMMIT DELETE ROWS`);
      staged = true;
      await tx.unsafe('BEGIN');
      await copyIn(tx, 'COPY usage_staging FROM STDIN (FORMAT binary)', bytes, COPY_TIMEOUT_MS);
      await tx.unsafe(completion);
    } catch (error) {
      // The connection is released and not used again here, because its state is unknown.
      release();
      throw error;
    }
  };

  return {
    /** Stores and counts the rows that are not stored yet; all of them, or none. */
    async store(rows: readonly Buffer[]): Promise<void> {
      const bytes = Buffer.concat([COPY_HEAD, ...rows, COPY_TAIL]);
      try {
        if (performance.now() >= repeatedUntil) return await write(bytes, ifAllNew);
      } catch (error) {
        if (codeOf(error) !== DUPLICATE) throw error;
        repeatedUntil = performance.now() + REPEATED_MS;
      }
      await write(bytes, always);
    },
    close: release,
  };
}
