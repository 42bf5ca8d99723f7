// Events whose cause is a transaction: from the outbox to the tables once each and in order, whoever moves them, whatever
// is in the way, and no reader goes past one.

import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { systemClock } from '../../src/core/clock.ts';
import { newId } from '../../src/core/ids.ts';
import type { Sql } from '../../src/infra/postgres/client.ts';
import { createMover } from '../../src/usage/mover.ts';
import { EventPages } from '../../src/usage/operations/retrieve.ts';
import { decodeRow, encodeRow } from '../../src/usage/row.ts';
import { createDeadLetterStore } from '../../src/usage/store/dead-letters.ts';
import { STORAGE_LOCK, STRIPES_COUNT, StorageBarrier } from '../../src/usage/store/lock-stripes.ts';
import { createOutboxStore } from '../../src/usage/store/outbox.ts';
import { createEventReader, type StoredEvent } from '../../src/usage/store/reader.ts';
import { createEventWriter } from '../../src/usage/store/writer.ts';
import { eventually } from '../support/child.ts';
import { connectTo, silentLog, type TestDatabase, testDatabase } from '../support/database.ts';

let database: TestDatabase;
const others: Sql[] = [];
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(async () => {
  for (const sql of others) await sql.end({ timeout: 1 });
  await database.drop();
});

/** The connections of another process. */
function otherProcess(): Sql {
  const sql = connectTo(database.url);
  others.push(sql);
  return sql;
}

const started: ReturnType<typeof createMover>[] = [];
const moverOn = (sql: Sql) => {
  const mover = createMover({ store: createOutboxStore(sql), log: silentLog });
  started.push(mover);
  return mover;
};
// One that goes on would move what the next test has caused.
afterEach(async () => {
  for (const { job } of started.splice(0)) await job.stop();
});
const settle = (mover: ReturnType<typeof createMover>): void | Promise<void> => mover.job.settle?.();

/** Commits an event with this number, as its cause does. */
const cause = (sql: Pick<Sql, 'unsafe'>, workspace: string, number: number) =>
  sql.unsafe(
    `SELECT usage_tell('${workspace}', 'chat.delete', 'ada@example.com',
      json_build_object('value', '1', 'chat_session_id', ${number}))`,
  );

type Stored = { number: number; createdAt: string; id: string };
const stored = async (workspace: string): Promise<Stored[]> =>
  database.sql<Stored[]>`
    SELECT (data ->> 'chat_session_id')::int AS number, created_at::text AS "createdAt", id
    FROM usage_events e WHERE workspace_id = ${workspace} ORDER BY e.created_at, e.id`;
const numbers = async (workspace: string): Promise<number[]> =>
  (await stored(workspace)).map(({ number }) => number);
const waiting = async (workspace: string): Promise<number> =>
  (await database.sql`SELECT FROM usage_outbox WHERE workspace_id = ${workspace}`).length;
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

const lockStripe = (workspace: string): string =>
  `SELECT pg_advisory_xact_lock(${STORAGE_LOCK}, hashtext('${workspace}') & ${STRIPES_COUNT - 1})`;

test('an event is stored as it was caused: its time, its type, its fields, and counted', async () => {
  const { sql } = database;
  await sql`INSERT INTO usage_outbox (workspace_id, type, subject, data, created_at)
    VALUES ('fields', 'auth.user.login', 'ada@example.com', '{"value":1,"provider":"key"}', '2026-01-31 10:00:00.123Z')`;
  const [before] = await sql<
    { id: string }[]
  >`SELECT event_id AS id FROM usage_outbox WHERE workspace_id = 'fields'`;
  await settle(moverOn(sql));
  expect(await waiting('fields')).toBe(0);
  const rows = await sql`
    SELECT event_id, source, type, subject, time::text AS time, data, extensions, value::text AS value
    FROM usage_events WHERE workspace_id = 'fields'`;
  expect([...rows]).toEqual([
    {
      event_id: before?.id,
      source: 'atrium',
      type: 'auth.user.login',
      subject: 'ada@example.com',
      time: '2026-01-31 10:00:00.123',
      data: { value: 1, provider: 'key' },
      extensions: null,
      value: '1',
    },
  ]);
  const [counted] = await sql<{ events: number }[]>`
    SELECT sum(events)::int AS events FROM usage_by_source WHERE workspace_id = 'fields'`;
  expect(counted?.events).toBe(1);
});

test('several processes that move at once store each event once, each workspace in order', async () => {
  const workspaces = ['many-a', 'many-b', 'many-c'];
  const causes = workspaces.map(async (workspace) => {
    for (let number = 0; number < 400; number++) await cause(database.sql, workspace, number);
  });
  const movers = upTo(4).map(() => moverOn(otherProcess()));
  let causing = true;
  const moving = movers.map(async (mover) => {
    while (causing) await settle(mover);
    await settle(mover);
  });
  await Promise.all(causes).finally(() => {
    causing = false;
  });
  await Promise.all(moving);
  for (const workspace of workspaces) {
    expect(await numbers(workspace)).toEqual(upTo(400));
    const [counted] = await database.sql<{ events: number }[]>`
      SELECT sum(events)::int AS events FROM usage_counts WHERE workspace_id = ${workspace} AND grain = 0`;
    expect(counted?.events).toBe(400);
  }
  for (const { metrics, job } of movers) {
    expect(metrics).toMatchObject({ failures: 0, deadLetters: 0 });
    await job.stop();
  }
});

test('a reader who goes on by cursor misses no event, whenever its cause is committed', async () => {
  const { sql } = database;
  const pages = new EventPages({
    reader: createEventReader(sql),
    barrier: new StorageBarrier(sql),
    retentionDays: 0,
    clock: systemClock,
  });
  const movers = upTo(2).map(() => moverOn(otherProcess()));
  const writer = createEventWriter(sql);
  let causing = true;
  let moved = false;
  const seen: StoredEvent[] = [];
  const reading = (async () => {
    for (let cursor: string | undefined, ended = false; ; ) {
      const page = await pages.read('paged', {
        from: undefined,
        to: undefined,
        includeTotal: false,
        size: 7,
        ...(cursor === undefined ? {} : { cursor }),
      });
      seen.push(...page.events);
      // Of a page that is not full, the place behind its last event.
      if (page.nextPage !== null) cursor = page.nextPage;
      else if (page.events.length > 0) seen.length -= page.events.length;
      if (ended && page.nextPage === null) return seen.push(...page.events);
      ended = moved;
    }
  })();
  const moving = movers.map(async (mover) => {
    while (causing) await settle(mover);
  });
  // Causes that begin in order and are committed in any, and events of the buffer between them.
  const storing = (async () => {
    for (let step = 0; step < 24; step++) await writer.store([foreignRow('paged')]);
  })();
  const causes = upTo(4).map(async (lane) => {
    for (let step = 0; step < 40; step++)
      await sql.begin(async (tx) => {
        await cause(tx, 'paged', lane * 1000 + step);
        await Bun.sleep((lane * 7 + step * 3) % 11);
      });
  });
  await Promise.all([...causes, storing]).finally(() => {
    causing = false;
  });
  await Promise.all(moving);
  for (const mover of movers) await mover.job.stop();
  moved = true;
  writer.close();
  await reading;
  const all = await stored('paged');
  expect(all.length).toBe(4 * 40 + 24);
  expect(seen.map(({ id }) => id)).toEqual(all.map(({ id }) => id));
});

const foreignRow = (workspaceId: string): Buffer =>
  encodeRow({
    id: newId(),
    workspaceId,
    eventId: newId(),
    source: 'app',
    type: 'a.b',
    subject: '',
    timeMicroseconds: 0n,
    data: '{"value":1}',
    extensions: null,
    value: '1',
  });

test('who moves waits for what is being stored, and readers wait for who moves', async () => {
  const { sql } = database;
  const mover = moverOn(otherProcess());
  const locked = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  const storing = sql.begin(async (tx) => {
    await tx.unsafe(lockStripe('waits'));
    locked.resolve();
    await done.promise;
  });
  await locked.promise;
  await cause(sql, 'waits', 1);
  const moving = settle(mover);
  await eventually('it to wait for the lock', async () => (await lockWaits()) > 0);
  expect(await numbers('waits')).toEqual([]);
  done.resolve();
  await storing;
  await moving;
  expect(await numbers('waits')).toEqual([1]);

  // A table that nobody may write to holds the next move up between its lock and its commit.
  const closed = Promise.withResolvers<void>();
  const reopened = Promise.withResolvers<void>();
  const holding = sql.begin(async (tx) => {
    await tx`LOCK TABLE usage_by_subject IN EXCLUSIVE MODE`;
    closed.resolve();
    await reopened.promise;
  });
  await closed.promise;
  await cause(sql, 'waits', 2);
  const next = settle(mover);
  await eventually('it to have the lock of the stripe', async () => (await advisoryLocks()) > 0);
  let read = false;
  const reader = new StorageBarrier(sql).wait('waits').then(() => {
    read = true;
  });
  await eventually('the reader to wait', async () => (await lockWaits()) > 0);
  expect(read).toBeFalse();
  reopened.resolve();
  await Promise.all([holding, next, reader]);
  expect(await numbers('waits')).toEqual([1, 2]);
  await mover.job.stop();
});

const countLocks = async (condition: string): Promise<number> => {
  const [row] = await database.sql.unsafe<{ count: number }[]>(
    `SELECT count(*)::int AS count FROM pg_locks WHERE locktype = 'advisory'
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND ${condition}`,
  );
  return row?.count ?? 0;
};
const lockWaits = () => countLocks('NOT granted');
const advisoryLocks = () => countLocks('granted');

test('what cannot be stored stays in the outbox, whole and in order', async () => {
  const { sql } = database;
  await sql`
    CREATE FUNCTION refuse_events() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$`;
  await sql`CREATE TRIGGER refuse BEFORE INSERT ON usage_counts FOR EACH ROW
    WHEN (NEW.workspace_id = 'stays') EXECUTE FUNCTION refuse_events()`;
  for (const number of upTo(5)) await cause(sql, 'stays', number);
  const mover = moverOn(sql);
  await settle(mover);
  expect([await waiting('stays'), await numbers('stays')]).toEqual([5, []]);
  expect(mover.metrics.failures).toBe(1);
  await sql`DROP FUNCTION refuse_events CASCADE`;
  await settle(mover);
  expect([await waiting('stays'), await numbers('stays')]).toEqual([0, upTo(5)]);
  await mover.job.stop();
});

test('an event that the database refuses becomes a dead letter, and holds up none of the others', async () => {
  const { sql } = database;
  const events = upTo(40);
  for (const number of events)
    if (number === 17)
      // More than an index of the tables takes, of characters that do not compress.
      await sql`SELECT usage_tell('refused', 'chat.delete',
        (SELECT string_agg(gen_random_uuid()::text, '') FROM generate_series(1, 300)),
        json_build_object('value', '1', 'chat_session_id', 17))`;
    else await cause(sql, 'refused', number);
  const movers = [moverOn(sql), moverOn(otherProcess())];
  await Promise.all(movers.map(settle));
  expect(await numbers('refused')).toEqual(events.filter((number) => number !== 17));
  expect(await waiting('refused')).toBe(0);
  const letters = await createDeadLetterStore(sql).oldest('refused', 10, undefined);
  expect(letters.length).toBe(1);
  expect(decodeRow(letters[0]?.row ?? Buffer.alloc(0))).toMatchObject({
    source: 'atrium',
    type: 'chat.delete',
  });
  for (const { job } of movers) await job.stop();
});

test('after a commit it is moved at once, and without a word of it a second later', async () => {
  const moved = (count: number) =>
    eventually(`${count} of them`, async () => (await numbers('woken')).length === count);
  // One that was not started looks into the outbox when it is woken, and at no other time.
  const woken = moverOn(database.sql);
  await cause(database.sql, 'woken', 0);
  woken.wake();
  await moved(1);
  await woken.job.stop();
  const unwoken = moverOn(database.sql);
  await unwoken.job.start();
  await settle(unwoken);
  await cause(database.sql, 'woken', 1);
  await moved(2);
  await unwoken.job.stop();
});
