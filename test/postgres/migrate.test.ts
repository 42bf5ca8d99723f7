// The schema is brought up to date once, by whoever comes first, or refused with the reason.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectDatabase } from '../../src/database.ts';
import type { Sql } from '../../src/infra/postgres/client.ts';
import { migrate, readMigrations } from '../../src/infra/postgres/migrate.ts';
import { eventually } from '../support/child.ts';
import { connectTo, MIGRATIONS, silentLog, type TestDatabase, testDatabase } from '../support/database.ts';

const root = mkdtempSync(join(tmpdir(), 'atrium-migrations-'));
const databases: TestDatabase[] = [];
let directory: string;
let sql: Sql;
let url: string;

/** A database that never saw a migration, and an empty folder for them. */
beforeEach(async () => {
  const database = await testDatabase();
  databases.push(database);
  ({ sql, url } = database);
  await sql`drop schema public cascade`;
  await sql`create schema public`;
  directory = mkdtempSync(join(root, 'folder-'));
  write('0001-notes.sql', 'create table notes (id int primary key); insert into notes values (1);');
  write('0002-more-notes.sql', 'insert into notes values (2);');
});
afterAll(async () => {
  for (const database of databases) await database.drop();
  rmSync(root, { recursive: true, force: true });
});

const write = (file: string, text: string): void => writeFileSync(join(directory, file), text);
const run = (): Promise<void> => migrate(sql, { directory, log: silentLog });
const notes = async (): Promise<number[]> => {
  const rows = await sql<{ id: number }[]>`select id from notes order by id`;
  return rows.map(({ id }) => id);
};

test('files are applied in order and noted; the next time nothing is done', async () => {
  await run();
  await run();
  expect(await notes()).toEqual([1, 2]);
  expect(
    await sql`select id, name, length(checksum) as length from schema_migrations order by id`,
  ).toMatchObject([
    { id: 1, name: '0001-notes.sql', length: 64 },
    { id: 2, name: '0002-more-notes.sql', length: 64 },
  ]);
  write('0003-third.sql', 'insert into notes values (3);');
  await run();
  expect(await notes()).toEqual([1, 2, 3]);
});

test('a start whose connection is lost amid a migration applies it over another one', async () => {
  // The migration waits for the end of this transaction.
  const holder = sql.reserve();
  await holder.unsafe('begin; create table schema_migrations (id int)');
  const starting = connectDatabase(url, silentLog);
  const ended = await eventually('the migration to wait', async () => {
    const [row] = await sql<{ ended: boolean }[]>`
      select pg_terminate_backend(pid) as ended from pg_stat_activity
      where datname = current_database() and application_name = 'atrium' and wait_event_type = 'Lock'`;
    return row?.ended;
  });
  expect(ended).toBe(true);
  await holder.unsafe('rollback');
  holder.release();
  const started = await starting;
  const [row] = await sql<{ applied: number }[]>`select count(*)::int as applied from schema_migrations`;
  expect(row?.applied).toBe(readMigrations(MIGRATIONS).length);
  await started.end({ timeout: 1 });
});

test('five processes at once apply each file once', async () => {
  const clients = Array.from({ length: 5 }, () => connectTo(url));
  write('0002-more-notes.sql', 'select pg_sleep(0.2); insert into notes values (2);');
  await Promise.all(clients.map((client) => migrate(client, { directory, log: silentLog })));
  expect(await notes()).toEqual([1, 2]);
  for (const client of clients) await client.end({ timeout: 1 });
});

test('a file that fails leaves nothing of itself, and those before it in place', async () => {
  write('0002-more-notes.sql', 'insert into notes values (2); select 1/0;');
  await expect(run()).rejects.toThrow('Migration 0002-more-notes.sql failed: division by zero');
  expect(await notes()).toEqual([1]);
  write('0002-more-notes.sql', 'insert into notes values (2);');
  await run();
  expect(await notes()).toEqual([1, 2]);
});

test('a file that was changed after it was applied is refused', async () => {
  await run();
  write('0001-notes.sql', 'create table notes (id bigint primary key);');
  await expect(run()).rejects.toThrow('Migration 0001-notes.sql was changed after it was applied');
});

/** What the database has: a version that is refused leaves all of it as it was. */
const state = () =>
  sql`select to_jsonb(m) as row, m.xmin::text as written from schema_migrations m order by id`;
/** The folder as a version had it that knew only these of its files. */
const goBackTo = (known: number): void => {
  for (const file of readdirSync(directory).toSorted().slice(known)) rmSync(join(directory, file));
};

test('an older version starts on a database whose newer migrations only add', async () => {
  write('0003-third.sql', 'alter table notes add column text text;');
  await run();
  const before = await state();
  goBackTo(2);
  const logged: string[] = [];
  await migrate(sql, { directory, log: { info: (_, message) => void logged.push(message) } });
  expect(await state()).toEqual(before);
  expect(logged).toEqual([
    'database: newer than this version (0003-third.sql), which it is still compatible with',
  ]);
  // Also where the database is brought up to date meanwhile.
  write('0003-third.sql', 'alter table notes add column text text;');
  await run();
  expect(await state()).toEqual(before);
});

test('an older version is refused by a database that a newer one has taken something from, and changes nothing', async () => {
  write('0003-third.sql', 'alter table notes add column text text;');
  write('0004-contract.sql', '-- compatible from: 0003\nalter table notes drop column id;');
  write('0005-fifth.sql', 'create table more ();');
  await run();
  const before = await state();
  goBackTo(3);
  await run();
  goBackTo(2);
  await expect(run()).rejects.toThrow(
    'The database is too new for this version: 0004-contract.sql needs a version that knows migration 0003, and this one ends with 0002. Start the newer version again, or restore a backup of the database from before that migration',
  );
  expect(await state()).toEqual(before);
});

test.each(['0', '0004', 'three', ''])(
  'a migration that is said to be compatible from %j is refused',
  async (from) => {
    write('0003-third.sql', `-- compatible from: ${from}\nselect 1;`);
    await expect(run()).rejects.toThrow(
      'Migration 0003-third.sql: "compatible from" is followed by a number from 0001 to 0003',
    );
    expect(await sql`select to_regclass('schema_migrations') as made`).toMatchObject([{ made: null }]);
  },
);

test('a database that another version has changed otherwise is refused, also where it is newer', async () => {
  write('0003-third.sql', 'select 1;');
  await run();
  goBackTo(1);
  write('0001-notes.sql', 'create table notes (id bigint primary key);');
  await expect(run()).rejects.toThrow('Migration 0001-notes.sql was changed after it was applied');
});

test('a gap is refused, in the folder and in the database', async () => {
  write('0004-fourth.sql', 'select 1;');
  await expect(run()).rejects.toThrow('Migration 0004-fourth.sql follows no 0003: numbers have no gaps');
  rmSync(join(directory, '0004-fourth.sql'));
  await run();
  await sql`delete from schema_migrations where id = 1`;
  await expect(run()).rejects.toThrow('The database has 0002-more-notes.sql, but not 0001');
});

test('a file that is not named as one is refused', async () => {
  write('3-third.sql', 'select 1;');
  await expect(run()).rejects.toThrow('Migration 3-third.sql is not named NNNN-name.sql');
});

test('the migrations of the service apply to an empty database', async () => {
  await migrate(sql, { directory: MIGRATIONS, log: silentLog });
  await migrate(sql, { directory: MIGRATIONS, log: silentLog });
});
