// From the buffer to the tables: once each, counted right, with a bad event taken out and a bad database waited for.

import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { SERVICE } from '../../src/core/author.ts';
import { unavailable } from '../../src/core/errors.ts';
import { newId } from '../../src/core/ids.ts';
import type { Sql } from '../../src/infra/postgres/client.ts';
import { migrate } from '../../src/infra/postgres/migrate.ts';
import type { Delivery, EventBuffer, FetchLimits } from '../../src/usage/buffer/event-buffer.ts';
import { Journal } from '../../src/usage/buffer/journal/index.ts';
import { createDeadLetters } from '../../src/usage/operations/dead-letters.ts';
import { encodeRow, toPack, type UsageEvent } from '../../src/usage/row.ts';
import { createSink } from '../../src/usage/sink.ts';
import { createDeadLetterStore } from '../../src/usage/store/dead-letters.ts';
import { createEventReader } from '../../src/usage/store/reader.ts';
import { createRetention } from '../../src/usage/store/retention.ts';
import { createEventWriter } from '../../src/usage/store/writer.ts';
import { eventually, startChild } from '../support/child.ts';
import { connectTo, MIGRATIONS, silentLog, testDatabase } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';
import { startPostgresServer } from '../support/postgres-server.ts';
import { shared } from '../support/shared.ts';

const SINK = join(import.meta.dir, '../support/sink-process.ts');

const database = await shared(testDatabase());
const folder = freshFolder();
let journals = 0;

const eventIn = (workspaceId: string, fields: Partial<UsageEvent> = {}): UsageEvent => ({
  id: newId(),
  workspaceId,
  eventId: crypto.randomUUID(),
  source: 'test',
  type: 'chat.create',
  subject: 'ada@example.com',
  timeMicroseconds: BigInt(Date.now()) * 1000n,
  data: '{"value":"1"}',
  extensions: null,
  value: '1',
  ...fields,
});

/** The same buffer with other methods: a fake of what becomes of their calls. */
const changed = (buffer: EventBuffer, methods: Partial<EventBuffer>): EventBuffer =>
  new Proxy(buffer, {
    get(target, name) {
      const found: unknown = Reflect.get(name in methods ? methods : target, name);
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });

async function openJournal(): Promise<EventBuffer> {
  const buffer = new Journal({
    directory: join(folder, `${++journals}`),
    bytesMax: 2 ** 30,
    log: silentLog,
  });
  await buffer.start();
  return buffer;
}

function sinkOf(sql: Sql, buffer: EventBuffer) {
  const deadLetters = createDeadLetterStore(sql);
  return {
    ...createSink({ sql, buffer, writer: createEventWriter(sql), deadLetters, log: silentLog }),
    deadLetters,
  };
}

const settle = async ({ job }: ReturnType<typeof sinkOf>): Promise<void> => job.settle?.();

/** Every count and rollup of a workspace, against the events themselves. */
async function expectCountedRight(sql: Sql, workspaceId: string, events: number): Promise<void> {
  const differences = await sql`
    WITH truth AS (SELECT * FROM usage_events WHERE workspace_id = ${workspaceId}),
    counts AS (
      SELECT 0 AS grain, created_at AS start, count(*) AS events FROM truth GROUP BY created_at
      UNION ALL SELECT 60, date_trunc('minute', created_at), count(*) FROM truth GROUP BY 2
      UNION ALL SELECT 86400, date_trunc('day', created_at), count(*) FROM truth GROUP BY 2),
    kept AS (SELECT grain, start, events FROM usage_counts WHERE workspace_id = ${workspaceId} AND events > 0),
    sources AS (
      SELECT date_trunc('hour', created_at)::timestamp(0) AS hour, type, source, count(*) AS events,
        sum(coalesce(value, 0)) AS value FROM truth GROUP BY 1, 2, 3),
    subjects AS (
      SELECT date_trunc('hour', created_at)::timestamp(0) AS hour, type, subject, count(*) AS events,
        sum(coalesce(value, 0)) AS value FROM truth GROUP BY 1, 2, 3),
    by_source AS (SELECT hour, type, source, events, value FROM usage_by_source WHERE workspace_id = ${workspaceId}),
    by_subject AS (SELECT hour, type, subject, events, value FROM usage_by_subject WHERE workspace_id = ${workspaceId})
    (SELECT 'counts' FROM (TABLE counts EXCEPT TABLE kept) d UNION ALL SELECT 'kept' FROM (TABLE kept EXCEPT TABLE counts) d)
    UNION ALL SELECT 'source' FROM (TABLE sources EXCEPT TABLE by_source) d
    UNION ALL SELECT 'source' FROM (TABLE by_source EXCEPT TABLE sources) d
    UNION ALL SELECT 'subject' FROM (TABLE subjects EXCEPT TABLE by_subject) d
    UNION ALL SELECT 'subject' FROM (TABLE by_subject EXCEPT TABLE subjects) d`;
  expect([...differences]).toEqual([]);
  const [row] = await sql<
    { events: number }[]
  >`SELECT count(*) AS events FROM usage_events WHERE workspace_id = ${workspaceId}`;
  expect(row?.events).toBe(events);
}

test('two sinks at once on the same events neither wait for each other for ever nor count twice', async () => {
  const workspaces = ['overlap-a', 'overlap-b', 'overlap-c'];
  const events = Array.from({ length: 3000 }, (_, index) =>
    eventIn(workspaces[index % 3] ?? '', {
      type: `t.${index % 5}`,
      subject: `p${index % 7}`,
      source: `s${index % 2}`,
    }),
  );
  const sinks = await Promise.all(
    [1, 2, 3].map(async (seed) => {
      const buffer = await openJournal();
      // Each has all the events, in another order and cut otherwise.
      const shuffled = events
        .map((event, index) => ({ event, key: (index * 7919 * seed) % 3001 }))
        .sort((a, b) => a.key - b.key);
      for (let start = 0; start < shuffled.length; start += 100 * seed)
        await buffer.append(
          toPack(shuffled.slice(start, start + 100 * seed).map(({ event }) => encodeRow(event))),
        );
      return { buffer, ...sinkOf(database.sql, buffer) };
    }),
  );
  for (const { job } of sinks) await job.start();
  await Promise.all(sinks.map(({ job }) => job.settle?.()));
  for (const { metrics } of sinks) expect(metrics).toMatchObject({ failures: 0, deadLetters: 0 });
  for (const { job, buffer } of sinks) {
    await job.stop();
    await buffer.close();
  }
  for (const workspace of workspaces) await expectCountedRight(database.sql, workspace, 1000);
});

test('a batch of new, stored and twice sent events is stored once and counted once', async () => {
  const events = Array.from({ length: 30 }, (_, index) =>
    eventIn('repeated', {
      type: `t.${index % 2}`,
      subject: `p${index % 3}`,
      value: index % 5 === 0 ? null : '2',
    }),
  );
  const rows = events.map(encodeRow);
  const writer = createEventWriter(database.sql);
  await writer.store(rows.slice(0, 10));
  await expectCountedRight(database.sql, 'repeated', 10);
  // Of the events that come again some are stored, one comes with another id of its row, and one comes twice in the batch.
  const [first = eventIn('repeated'), , , , , , , , , , new1 = eventIn('repeated')] = events;
  await writer.store([
    ...rows.slice(5, 20),
    encodeRow({ ...first, id: newId() }),
    encodeRow({ ...new1, id: newId() }),
  ]);
  await expectCountedRight(database.sql, 'repeated', 20);
  await writer.store(rows);
  await expectCountedRight(database.sql, 'repeated', 30);
  await createEventWriter(database.sql).store(rows);
  await expectCountedRight(database.sql, 'repeated', 30);
  writer.close();
});

test('a sink that is stopped asks the buffer for nothing more', async () => {
  const journal = await openJournal();
  let fetches = 0;
  const fetch: EventBuffer['fetch'] = (limits) => {
    fetches += 1;
    return journal.fetch(limits);
  };
  const { job } = sinkOf(database.sql, changed(journal, { fetch }));
  await job.start();
  await eventually('it to ask', () => fetches > 0);
  const stopped = job.stop();
  const before = fetches;
  await stopped;
  expect(fetches).toBe(before);
  await journal.close();
});

test('times of storage ascend from commit to commit', async () => {
  const writers = [createEventWriter(database.sql), createEventWriter(database.sql)];
  const last = async (): Promise<string> => {
    const [row] = await database.sql<{ at: string | null }[]>`
      SELECT max(created_at)::text AS at FROM usage_events WHERE workspace_id = 'ascending'`;
    return row?.at ?? '';
  };
  await Promise.all(
    writers.map(async (writer) => {
      for (let round = 0; round < 40; round++) {
        const before = await last();
        const event = eventIn('ascending');
        await writer.store([encodeRow(event)]);
        const [row] = await database.sql<{ at: string }[]>`
          SELECT created_at::text AS at FROM usage_events WHERE workspace_id = 'ascending' AND event_id = ${event.eventId}`;
        expect((row?.at ?? '') > before).toBeTrue();
      }
    }),
  );
  for (const writer of writers) writer.close();
  const [row] = await database.sql<{ distinct: number; all: number }[]>`
    SELECT count(DISTINCT created_at) AS distinct, count(*) AS all FROM usage_events WHERE workspace_id = 'ascending'`;
  expect(row).toEqual({ distinct: 80, all: 80 });
});

test('an event that the database refuses becomes a dead letter, the others are stored; it can be replayed and purged', async () => {
  const { sql } = database;
  const buffer = await openJournal();
  const sink = sinkOf(sql, buffer);
  const events = Array.from({ length: 400 }, () => eventIn('poison'));
  const poison = [eventIn('poison', { data: '{"value":' }), eventIn('poison', { data: '{"a":"\0"}' })];
  const all = events.toSpliced(123, 0, ...poison.slice(0, 1)).toSpliced(300, 0, ...poison.slice(1));
  for (let start = 0; start < all.length; start += 67)
    await buffer.append(toPack(all.slice(start, start + 67).map(encodeRow)));
  await sink.job.start();
  await settle(sink);
  await expectCountedRight(sql, 'poison', 400);
  expect(sink.metrics.deadLetters).toBe(2);

  const appender = { append: (rows: readonly Buffer[]) => buffer.append(toPack(rows)) };
  const deadLetters = createDeadLetters({ store: sink.deadLetters, appender });
  const page = { limit: 10, after: undefined };
  const { items } = await deadLetters.list('poison', page);
  expect(items.map(({ event }) => event.event_id).sort()).toEqual(
    poison.map(({ eventId }) => eventId).sort(),
  );
  for (const { reason } of items) expect(reason).not.toBe('');
  // A buffer that takes nothing leaves them where they are.
  const away = unavailable('Usage events cannot be taken now');
  const refusing = createDeadLetters({
    store: sink.deadLetters,
    appender: { append: () => Promise.reject(away) },
  });
  await expect(refusing.replay(SERVICE, 'poison', undefined)).rejects.toBe(away);
  expect((await deadLetters.list('poison', page)).items).toEqual(items);
  // They are refused again, and are dead letters once more.
  expect(await deadLetters.replay(SERVICE, 'poison', undefined)).toBe(2);
  await eventually(
    'both to come back',
    async () => (await deadLetters.list('poison', page)).items.length === 2,
  );
  const [first] = (await deadLetters.list('poison', page)).items;
  expect(await deadLetters.purge(SERVICE, 'poison', [first?.id ?? ''])).toBe(1);
  expect(await deadLetters.purge(SERVICE, 'elsewhere', undefined)).toBe(0);
  expect(await deadLetters.purge(SERVICE, 'poison', undefined)).toBe(1);
  await sink.job.stop();
  await buffer.close();
});

test('an event has one dead letter: after a crash before the buffer heard of it, and after a replay that was cut off', async () => {
  const { sql } = database;
  const buffer = await openJournal();
  let [acknowledgements, deletions] = [0, 0];
  // A fake: the process would have to die exactly there.
  const dying = changed(buffer, {
    async acknowledge(deliveries: readonly Delivery[]) {
      if (++acknowledgements === 1) throw new Error('killed before the acknowledgement');
      await buffer.acknowledge(deliveries);
    },
  });
  const sink = sinkOf(sql, dying);
  const { eventId } = eventIn('once');
  // An application that had no answer sends again; the mistake is the same.
  for (let copy = 0; copy < 2; copy++)
    await buffer.append(toPack([encodeRow(eventIn('once', { eventId, data: '{"value":' }))]));
  await sink.job.start();
  await settle(sink);
  expect(acknowledgements).toBeGreaterThan(1);
  const appender = { append: (rows: readonly Buffer[]) => buffer.append(toPack(rows)) };
  const store = {
    ...sink.deadLetters,
    async deleteCopies(...copies: Parameters<typeof sink.deadLetters.deleteCopies>) {
      if (++deletions === 1) throw new Error('killed before the deletion');
      await sink.deadLetters.deleteCopies(...copies);
    },
  };
  const deadLetters = createDeadLetters({ store, appender });
  const ids = async (): Promise<string[]> =>
    (await deadLetters.list('once', { limit: 10, after: undefined })).items.map(({ id }) => id);
  const [id = '', ...others] = await ids();
  expect(others).toEqual([]);
  await expect(deadLetters.replay(SERVICE, 'once', undefined)).rejects.toThrow('killed before the deletion');
  await settle(sink);
  expect(await ids()).toEqual([id]);
  expect(await deadLetters.replay(SERVICE, 'once', [id])).toBe(1);
  await settle(sink);
  expect(await ids()).toEqual([id]);
  await sink.job.stop();
  await buffer.close();
});

test('a dead letter whose copy is refused again before the replay is over stays', async () => {
  const buffer = await openJournal();
  const sink = sinkOf(database.sql, buffer);
  await buffer.append(toPack([encodeRow(eventIn('quick', { data: '{"value":' }))]));
  await sink.job.start();
  await settle(sink);
  const appender = {
    async append(rows: readonly Buffer[]) {
      await buffer.append(toPack(rows));
      await settle(sink);
    },
  };
  const deadLetters = createDeadLetters({ store: sink.deadLetters, appender });
  expect(await deadLetters.replay(SERVICE, 'quick', undefined)).toBe(1);
  expect((await deadLetters.list('quick', { limit: 10, after: undefined })).items.length).toBe(1);
  await sink.job.stop();
  await buffer.close();
});

test('packs that are small only on the outside are stored in parts', async () => {
  const buffer = await openJournal();
  const fetched: number[] = [];
  const watched = changed(buffer, {
    async fetch(limits: FetchLimits) {
      const deliveries = await buffer.fetch(limits);
      fetched.push(deliveries.length);
      return deliveries;
    },
  });
  const data = JSON.stringify({ value: '1', fill: 'a'.repeat(900_000) });
  for (let index = 0; index < 60; index++)
    await buffer.append(toPack([encodeRow(eventIn('bomb', { data }))]));
  const sink = sinkOf(database.sql, watched);
  await sink.job.start();
  await settle(sink);
  expect(Math.max(...fetched)).toBeLessThanOrEqual(32);
  await expectCountedRight(database.sql, 'bomb', 60);
  await sink.job.stop();
  await buffer.close();
});

test('what was fetched before a fetch failed is not forgotten', async () => {
  const buffer = await openJournal();
  let calls = 0;
  const failing = changed(buffer, {
    async fetch(limits: FetchLimits) {
      calls += 1;
      if (calls === 2) throw new Error('a fake failure');
      return buffer.fetch(limits);
    },
  });
  await buffer.append(toPack([encodeRow(eventIn('stranded'))]));
  const sink = sinkOf(database.sql, failing);
  await sink.job.start();
  await settle(sink);
  await expectCountedRight(database.sql, 'stranded', 1);
  await sink.job.stop();
  await buffer.close();
});

test('a database that hangs, and one that is killed, only let the backlog grow', async () => {
  const server = await startPostgresServer();
  const sql = connectTo(server.url, { statementTimeoutMs: 2000 });
  const buffer = await openJournal();
  try {
    await migrate(sql, { directory: MIGRATIONS, log: silentLog });
    const sink = sinkOf(sql, buffer);
    await sink.job.start();
    let sent = 0;
    const send = async (): Promise<void> => {
      const events = Array.from({ length: 50 }, () => eventIn('outage'));
      await buffer.append(toPack(events.map(encodeRow)));
      sent += events.length;
    };
    await send();
    await settle(sink);
    server.pause();
    for (let round = 0; round < 10; round++) await send();
    await eventually('a failure', () => sink.metrics.failures > 0);
    expect((await buffer.metrics()).packs).toBeGreaterThanOrEqual(10);
    server.resume();
    await settle(sink);
    await server.kill();
    for (let round = 0; round < 10; round++) await send();
    await server.start();
    await settle(sink);
    await expectCountedRight(sql, 'outage', sent);
    await sink.job.stop();
  } finally {
    await buffer.close();
    await sql.end({ timeout: 1 });
    await server.stop();
  }
});

test('a sink that hangs loses its work to another, and stores nothing twice when it goes on', async () => {
  const directory = join(folder, `${++journals}`);
  const environment = { DATABASE_URL: database.url, JOURNAL: directory, LEASE_MS: '2000' };
  const hung = startChild([process.execPath, SINK], { environment });
  await eventually('the sink to hold the lock', () => hung.output().includes('working\n'));
  const buffer = new Journal({ directory, bytesMax: 2 ** 30, log: silentLog });
  await buffer.start();
  const sink = sinkOf(database.sql, buffer);
  await sink.job.start();
  const append = async (): Promise<void> =>
    void (await buffer.append(toPack(Array.from({ length: 50 }, () => encodeRow(eventIn('hung'))))));
  for (let round = 0; round < 5; round++) await append();
  hung.kill('SIGSTOP');
  for (let round = 0; round < 5; round++) await append();
  await settle(sink);
  await expectCountedRight(database.sql, 'hung', 500);
  hung.kill('SIGCONT');
  for (let round = 0; round < 5; round++) await append();
  await settle(sink);
  await eventually('it to notice', () => hung.output().includes('has not heard of this process'));
  await expectCountedRight(database.sql, 'hung', 750);
  await hung.stop();
  await sink.job.stop();
  await buffer.close();
});

test('a page reads no more rows than it gives, wherever it begins, and a total reads none', async () => {
  // Sessions report what they have read when they like, ended ones at once: no other one is there while rows are counted.
  await using own = await testDatabase();
  const writer = createEventWriter(own.sql);
  for (let batch = 0; batch < 10; batch++)
    await writer.store(Array.from({ length: 2000 }, () => encodeRow(eventIn('deep'))));
  writer.close();
  await own.sql.end();
  const sql = connectTo(own.url, { connectionsMax: 1 });
  await eventually('the other sessions to end', async () => {
    const others = await sql`
      SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`;
    return others.length === 0;
  });
  await sql`ANALYZE usage_events`;
  const reader = createEventReader(sql);
  const window = { workspaceId: 'deep', from: undefined, to: undefined };
  /** Rows of the events that were looked at. */
  const rowsRead = async (): Promise<number> => {
    await sql`SELECT pg_stat_force_next_flush()`;
    const [row] = await sql<{ rows: number }[]>`
      SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint AS rows
      FROM pg_stat_user_tables WHERE relname LIKE 'usage_events%'`;
    return row?.rows ?? 0;
  };
  const read = async (run: () => Promise<unknown>): Promise<number> => {
    const before = await rowsRead();
    await run();
    return (await rowsRead()) - before;
  };
  const [middle] = await sql<{ id: string; at: string }[]>`
    SELECT id, created_at::text AS at FROM usage_events e WHERE workspace_id = 'deep'
    ORDER BY e.created_at, e.id OFFSET 10000 LIMIT 1`;
  const position = { createdAtMs: Date.parse(`${middle?.at.replace(' ', 'T')}Z`), id: middle?.id ?? '' };
  for (const backwards of [false, true]) {
    for (const from of [undefined, position]) {
      const cursor = { backwards, position: from, inclusive: false };
      expect(await read(() => reader.page(window, cursor, 50))).toBeLessThanOrEqual(51);
    }
  }
  expect(await read(() => reader.total(window))).toBe(0);
  expect(await reader.total(window)).toBe(20_000);
  await sql.end({ timeout: 1 });
});

test('retention takes whole batches with their counts, and leaves rollups', async () => {
  const { sql } = database;
  const writer = createEventWriter(sql);
  for (let batch = 0; batch < 6; batch++)
    await writer.store(Array.from({ length: 100 }, () => encodeRow(eventIn('retained'))));
  writer.close();
  // Half of it is older than it was.
  await sql`WITH old AS (SELECT DISTINCT created_at FROM usage_events WHERE workspace_id = 'retained' ORDER BY 1 LIMIT 3)
    UPDATE usage_events SET created_at = created_at - interval '3 days'
    WHERE workspace_id = 'retained' AND created_at IN (TABLE old)`;
  await sql`DELETE FROM usage_counts WHERE workspace_id = 'retained'`;
  await sql`INSERT INTO usage_counts (workspace_id, grain, start, events)
    SELECT workspace_id, grain, CASE grain WHEN 0 THEN created_at WHEN 60 THEN date_trunc('minute', created_at)
      ELSE date_trunc('day', created_at) END, count(*)
    FROM usage_events, (VALUES (0), (60), (86400)) g (grain) WHERE workspace_id = 'retained' GROUP BY 1, 2, 3`;
  const retention = createRetention(sql);
  const before = new Date(Date.now() - 86_400_000);
  const deleted: number[] = [];
  while (deleted.at(-1) !== 0) deleted.push(await retention.deleteSome(before, 150));
  expect(deleted).toEqual([200, 100, 0]);
  const window = { workspaceId: 'retained', from: undefined, to: undefined };
  const reader = createEventReader(sql);
  expect(await reader.total(window)).toBe(300);
  expect(
    (await reader.page(window, { backwards: false, position: undefined, inclusive: false }, 1000)).length,
  ).toBe(300);
  const [rollup] = await sql<{ events: number }[]>`
    SELECT sum(events)::bigint AS events FROM usage_by_source WHERE workspace_id = 'retained'`;
  expect(rollup?.events).toBe(600);
});
