// What this machine's Postgres takes of such events at most: COPY into a staging table, and from there into a table
// like the service's, without counts, over one connection.

import { newId } from '../../src/core/ids.ts';
import { connectPostgres } from '../../src/infra/postgres/client.ts';
import { copyIn } from '../../src/infra/postgres/copy.ts';
import { COPY_HEAD, COPY_TAIL, encodeRow, ROW_COLUMNS } from '../../src/usage/row.ts';
import { silentLog } from '../../test/support/database.ts';

const BATCH = 20_000;
const BATCHES = 15;
/** The first ones find an empty table. */
const WARM_UP = 3;

/** Events, and how many a second but for the first ones. The table stays as it was: what is stored is taken away again. */
export async function measureCeiling(databaseUrl: string): Promise<{ events: number; perSecond: number }> {
  const sql = connectPostgres({ url: databaseUrl, applicationName: 'bench', log: silentLog });
  const connection = sql.reserve({ unlimited: true });
  try {
    await connection.unsafe(`CREATE TEMP TABLE ceiling (${ROW_COLUMNS.join(', ')}) ON COMMIT DELETE ROWS`);
    let elapsedMs = 0;
    for (let batch = 0; batch < BATCHES; batch++) {
      const bytes = Buffer.concat([
        COPY_HEAD,
        ...Array.from({ length: BATCH }, (_, index) => rowOf(index)),
        COPY_TAIL,
      ]);
      const startedAt = performance.now();
      await connection.unsafe('BEGIN');
      await copyIn(connection, 'COPY ceiling FROM STDIN (FORMAT binary)', bytes, 60_000);
      await connection.unsafe(`
        INSERT INTO usage_events
          (workspace_id, created_at, id, event_id, source, type, subject, time, data, extensions, value)
        SELECT workspace_id, clock_timestamp() AT TIME ZONE 'UTC', id, event_id, source, type, subject, time, data,
          extensions, value::numeric
        FROM ceiling ORDER BY workspace_id, event_id, source ON CONFLICT (workspace_id, event_id, source) DO NOTHING`);
      await connection.unsafe('COMMIT');
      if (batch >= WARM_UP) elapsedMs += performance.now() - startedAt;
    }
    return { events: BATCHES * BATCH, perSecond: ((BATCHES - WARM_UP) * BATCH) / (elapsedMs / 1000) };
  } finally {
    await connection.unsafe("DELETE FROM usage_events WHERE workspace_id LIKE 'ceiling-%'");
    connection.release();
    await sql.end({ timeout: 1 });
  }
}

/** As the sender's events. */
const rowOf = (index: number): Buffer =>
  encodeRow({
    id: newId(),
    workspaceId: `ceiling-${index % 4}`,
    eventId: crypto.randomUUID(),
    source: `app-${index % 3}`,
    type: 'messages.user.new',
    subject: `person-${index % 500}@example.com`,
    timeMicroseconds: BigInt(Date.now()) * 1000n,
    data: JSON.stringify({ value: '1', message_id: index, chat_session_id: index % 50 }),
    extensions: null,
    value: '1',
  });
