// Whoever caches rows hears of their change, or learns that it hears nothing.

import { afterEach, beforeEach, expect, test } from 'bun:test';
import { createCachedLookup } from '../../src/core/cached-lookup.ts';
import type { Sql } from '../../src/infra/postgres/client.ts';
import { createInvalidation, type Invalidation } from '../../src/infra/postgres/invalidation.ts';
import { eventually, freeze } from '../support/child.ts';
import { connectTo, silentLog, type TestDatabase, testDatabase } from '../support/database.ts';

let database: TestDatabase;
let sql: Sql;
let listening: Sql;
let invalidation: Invalidation;
let keys: string[];
let resets: boolean[];

beforeEach(async () => {
  database = await testDatabase();
  sql = database.sql;
  listening = connectTo(database.url, { applicationName: 'listening' });
  invalidation = createInvalidation({ sql: listening, log: silentLog });
  keys = [];
  resets = [];
  invalidation.subscribe(
    'things',
    (key) => keys.push(key),
    () => resets.push(invalidation.connected()),
  );
  await invalidation.start();
});
afterEach(async () => {
  await invalidation.close();
  await listening.end({ timeout: 1 });
  await database.drop();
});

const announce = (payload: string) => sql`select pg_notify('atrium_invalidate', ${payload})`;
const listener = () => sql<{ pid: number }[]>`
  select pid from pg_stat_activity
  where datname = current_database() and application_name = 'listening' and (query like 'listen %' or query like '%pg_notify%')`;

test('a change is told to the subscribers of its topic, once it is committed', async () => {
  await announce('others:1');
  await sql.begin(async (tx) => {
    await tx`select pg_notify('atrium_invalidate', 'things:a:b')`;
    await announce('things:first');
    await eventually('the first', () => keys.length > 0);
  });
  await eventually('the second', () => keys.length > 1);
  expect(keys).toEqual(['first', 'a:b']);
});

test('the start connects, and resets once', () => {
  expect(invalidation.connected()).toBe(true);
  expect(resets).toEqual([true]);
});

test('a lost connection is noticed and made anew, with a reset at each', async () => {
  const [session] = await listener();
  await sql`select pg_terminate_backend(${session?.pid ?? 0})`;
  await eventually('the loss', () => resets.length > 1);
  expect(resets[1]).toBe(false);
  await eventually('the connection', () => invalidation.connected());
  // A machine that stands still may lose the connection once more, and with it what is announced meanwhile.
  await eventually('news', async () => {
    await announce('things:after');
    return keys.includes('after');
  });
  expect(resets).toEqual(resets.map((_, at) => at % 2 === 0));
  expect(resets.length).toBeGreaterThan(2);
});

test('a connection that hangs is noticed although it stays open', async () => {
  const [session] = await listener();
  freeze(session?.pid ?? 0);
  await eventually('the silence', () => !invalidation.connected());
  process.kill(session?.pid ?? 0, 'SIGCONT');
  await eventually('the connection', () => invalidation.connected());
});

test('without a database the start returns, and connects when there is one', async () => {
  const missing = new URL(database.url);
  missing.pathname = `${missing.pathname}_later`;
  const name = missing.pathname.slice(1);
  const client = connectTo(missing.href, { applicationName: 'later' });
  const later = createInvalidation({ sql: client, log: silentLog });
  await later.start();
  expect(later.connected()).toBe(false);
  await sql.unsafe(`create database ${name}`);
  await eventually('the connection', () => later.connected());
  await later.close();
  await client.end({ timeout: 1 });
  await sql.unsafe(`drop database ${name} with (force)`);
});

test('a cache behind it never serves what was changed before it heard of it, also across losses', async () => {
  await sql`create table things (id text primary key, version int)`;
  await sql`insert into things values ('a', 0)`;
  await sql`
    create function announce() returns trigger language plpgsql as
    $$ begin perform pg_notify('atrium_invalidate', 'things:' || new.id); return new; end $$`;
  await sql`create trigger announce after update on things for each row execute function announce()`;
  const lookup = createCachedLookup<number>({
    load: async (id) =>
      (await listening<{ version: number }[]>`select version from things where id = ${id}`)[0]?.version,
    ttlMs: 30_000,
    entriesMax: 10,
    usable: invalidation.connected,
  });
  invalidation.subscribe('things', lookup.drop, lookup.reset);
  for (let version = 1; version <= 20; version += 1) {
    await lookup.get('a');
    if (version % 5 === 0) {
      const [session] = await listener();
      await sql`select pg_terminate_backend(${session?.pid ?? 0})`;
    }
    await sql`update things set version = ${version} where id = 'a'`;
    await eventually('the new version', async () => (await lookup.get('a')) === version);
  }
});
