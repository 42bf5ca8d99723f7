// One Postgres a test run; a database of its own, with the schema in place, for whoever asks.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../../src/embedded/postgres/index.ts';
import { clearLeftover } from '../../src/embedded/postgres/leftover.ts';
import { isAlive } from '../../src/embedded/postgres/processes.ts';
import { connectPostgres, type Sql } from '../../src/infra/postgres/client.ts';
import { migrate } from '../../src/infra/postgres/migrate.ts';

export const silentLog = { debug() {}, info() {}, warn() {}, error() {} };

export const MIGRATIONS = join(import.meta.dir, '../../src/infra/postgres/migrations');

export type TestDatabase = { url: string; sql: Sql; drop: () => Promise<void> };

type Server = { admin: Sql; url: string; template: string; end: () => Promise<void> };

/** Folders of the run's servers are named after the process, so that a later run can tell whose they were. */
const FOLDER = /^atrium-test-postgres-(\d+)-/;

let server: Promise<Server> | undefined;
let databases = 0;

/**
 * A fresh database with all migrations applied. The server is started at the first call, without fsync; with
 * TEST_DATABASE_URL it is that one, whose role must be allowed to create databases.
 */
export async function testDatabase(): Promise<TestDatabase> {
  server ??= startServer();
  const { admin, url, template } = await server;
  databases += 1;
  const name = `${template}_${databases}`;
  await admin.unsafe(`create database ${name} template ${template}`);
  const own = withDatabase(url, name);
  const sql = connectPostgres({ url: own, applicationName: 'test', connectionsMax: 5, log: silentLog });
  return {
    url: own,
    sql,
    async drop() {
      await sql.end({ timeout: 1 });
      await dropDatabase(admin, name);
    },
  };
}

/** An autovacuum worker in the database is not ours to end; it leaves by itself. */
async function dropDatabase(admin: Sql, name: string, attempts = 50): Promise<void> {
  try {
    await admin.unsafe(`drop database if exists ${name} with (force)`);
  } catch (error) {
    const { code } = error as { code?: string };
    if (code !== INSUFFICIENT_PRIVILEGE || attempts === 0) throw error;
    await Bun.sleep(200);
    await dropDatabase(admin, name, attempts - 1);
  }
}

const INSUFFICIENT_PRIVILEGE = '42501';

/** Ends what `testDatabase` started; called once after all tests. */
export async function endTestDatabases(): Promise<void> {
  const started = server;
  server = undefined;
  await (await started)?.end();
}

async function startServer(): Promise<Server> {
  const external = process.env['TEST_DATABASE_URL'];
  const { url, end } =
    external === undefined ? await startEmbedded() : { url: external, end: async () => {} };
  const template = `atrium_test_${process.pid}_${Date.now()}`;
  const admin = connectPostgres({ url, applicationName: 'test', statementTimeoutMs: 60_000, log: silentLog });
  try {
    await admin.unsafe(`create database ${template}`);
    await migrateTemplate(withDatabase(url, template));
  } catch (error) {
    await end();
    throw error;
  }
  return {
    ...{ admin, url, template },
    async end() {
      if (external !== undefined) await dropDatabases(admin, template);
      await admin.end({ timeout: 1 });
      await end();
    },
  };
}

async function startEmbedded() {
  await removeLeftovers();
  const directory = mkdtempSync(join(tmpdir(), `atrium-test-postgres-${process.pid}-`));
  const settings = {
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    shared_buffers: '64MB',
  };
  const postgres = await startPostgres({ directory, log: silentLog, settings });
  // The test runner kills it when a test takes too long; the next to ask for a database gets a new one.
  const removed = postgres.exited.then(() => {
    server = undefined;
    rmSync(directory, { recursive: true, force: true });
  });
  return {
    url: postgres.url,
    async end() {
      await postgres.stop();
      await removed;
    },
  };
}

/** Of runs that were killed. */
async function removeLeftovers(): Promise<void> {
  for (const name of readdirSync(tmpdir())) {
    const pid = Number(FOLDER.exec(name)?.[1]);
    if (Number.isNaN(pid) || isAlive(pid)) continue;
    const directory = join(tmpdir(), name);
    await clearLeftover(join(directory, 'cluster'), silentLog);
    rmSync(directory, { recursive: true, force: true });
  }
}

async function migrateTemplate(url: string): Promise<void> {
  const sql = connectPostgres({ url, applicationName: 'test', log: silentLog });
  await migrate(sql, { directory: MIGRATIONS, log: silentLog });
  // A template can't be copied while somebody is connected.
  await sql.end({ timeout: 1 });
}

async function dropDatabases(admin: Sql, template: string): Promise<void> {
  const rows = await admin<{ name: string }[]>`
    select datname as name from pg_database where starts_with(datname, ${template})`;
  for (const { name } of rows) await admin.unsafe(`drop database if exists ${name} with (force)`);
}

function withDatabase(url: string, name: string): string {
  const own = new URL(url);
  own.pathname = `/${name}`;
  return own.href;
}
