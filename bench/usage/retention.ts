// Deleting old events in two ways, beside events that are stored at the same time: in small batches, and by dropping
// partitions of time, which need a table apart for deduplication.

import { connectPostgres, type Sql } from '../../src/infra/postgres/client.ts';
import { migrate } from '../../src/infra/postgres/migrate.ts';
import { createRetention } from '../../src/usage/store/retention.ts';
import { createEventWriter } from '../../src/usage/store/writer.ts';
import { MIGRATIONS, silentLog } from '../../test/support/database.ts';
import { startPostgresServer } from '../../test/support/postgres-server.ts';
import { printTable, whole } from '../lib/report.ts';
import { rowOf } from './ceiling.ts';

const BATCH = 5000;
const OLD_EVENTS = 400_000;

export async function measureRetention(seconds: number): Promise<void> {
  const rows: string[][] = [];
  const alone = await withDatabase(async (sql) => (await storeFor(sql, seconds)).perSecond);
  rows.push(['storing alone', whole(alone), '1.00', '', '']);
  const deleting = await withDatabase(async (sql) => {
    await fillOld(sql);
    const retention = createRetention(sql);
    let done = false;
    const startedAt = performance.now();
    let deletedMs = 0;
    const work = (async () => {
      while (!done && (await retention.deleteSome(new Date(Date.now() - 86_400_000), BATCH)) > 0)
        await Bun.sleep(0);
      deletedMs = performance.now() - startedAt;
    })();
    const { perSecond } = await storeFor(sql, seconds);
    done = true;
    await work;
    return { perSecond, deletedMs };
  });
  const rate = (OLD_EVENTS / deleting.deletedMs) * 1000;
  rows.push([
    'deleting in batches beside it',
    whole(deleting.perSecond),
    (deleting.perSecond / alone).toFixed(2),
    `≥ ${whole(rate)}/s`,
    'as long as the event is kept',
  ]);
  const partitioned = await withDatabase(async (sql) => {
    await partitionByTime(sql);
    const { perSecond } = await storeFor(sql, seconds);
    const droppedAt = performance.now();
    await sql.unsafe('DROP TABLE usage_by_time_old');
    return { perSecond, dropMs: performance.now() - droppedAt };
  });
  rows.push([
    'partitions of time, keys apart',
    whole(partitioned.perSecond),
    (partitioned.perSecond / alone).toFixed(2),
    `a drop: ${partitioned.dropMs.toFixed(0)} ms`,
    'as long as the keys are kept',
  ]);
  printTable(
    `Retention, storing batches of ${whole(BATCH)} over one connection`,
    ['design', 'stored/s', 'of storing alone', 'deleted', 'deduplication holds'],
    rows,
  );
}

async function withDatabase<T>(run: (sql: Sql) => Promise<T>): Promise<T> {
  const server = await startPostgresServer();
  const sql = connectPostgres({
    url: server.url,
    applicationName: 'bench',
    log: silentLog,
    statementTimeoutMs: 0,
  });
  try {
    await migrate(sql, { directory: MIGRATIONS, log: silentLog });
    return await run(sql);
  } finally {
    await sql.end({ timeout: 1 });
    await server.stop();
  }
}

async function storeFor(sql: Sql, seconds: number): Promise<{ perSecond: number }> {
  const writer = createEventWriter(sql);
  const startedAt = performance.now();
  let stored = 0;
  while (performance.now() - startedAt < seconds * 1000) {
    await writer.store(Array.from({ length: BATCH }, (_, index) => rowOf(index)));
    stored += BATCH;
  }
  writer.close();
  return { perSecond: stored / ((performance.now() - startedAt) / 1000) };
}

/** Events of three days ago. */
async function fillOld(sql: Sql): Promise<void> {
  const writer = createEventWriter(sql);
  for (let stored = 0; stored < OLD_EVENTS; stored += BATCH)
    await writer.store(Array.from({ length: BATCH }, (_, index) => rowOf(index)));
  writer.close();
  await sql`UPDATE usage_events SET created_at = created_at - interval '3 days'`;
  await sql`DELETE FROM usage_counts WHERE grain > 0`;
  await sql`UPDATE usage_counts SET start = start - interval '3 days'`;
  await sql`VACUUM usage_events`;
}

/** The table as it would be with partitions of days: its key may not span them, so that a trigger keeps keys apart. */
async function partitionByTime(sql: Sql): Promise<void> {
  await sql.unsafe(`
    ALTER TABLE usage_events RENAME TO usage_keys;
    DROP INDEX usage_events_by_time;
    ALTER TABLE usage_keys ALTER COLUMN type DROP NOT NULL, ALTER COLUMN subject DROP NOT NULL;
    CREATE TABLE usage_bodies (LIKE usage_keys) PARTITION BY RANGE (created_at);
    CREATE TABLE usage_by_time_old PARTITION OF usage_bodies FOR VALUES FROM ('2000-01-01') TO ('2001-01-01');
    CREATE TABLE usage_by_time_now PARTITION OF usage_bodies DEFAULT;
    CREATE INDEX ON usage_bodies (workspace_id, created_at, id);
    CREATE VIEW usage_events AS TABLE usage_keys;
    CREATE FUNCTION usage_split() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO usage_bodies SELECT * FROM added;
      RETURN NULL;
    END $$;
    CREATE TRIGGER usage_split AFTER INSERT ON usage_keys REFERENCING NEW TABLE AS added
      FOR EACH STATEMENT EXECUTE FUNCTION usage_split()`);
  await sql`INSERT INTO usage_bodies (workspace_id, created_at, id, event_id, source, type, subject, time, data)
    SELECT 'old', '2000-06-01', gen_random_uuid(), n::text, 's', 't', '', '2000-06-01', '{}' FROM generate_series(1, ${OLD_EVENTS}::int) n`;
}
