// One Postgres a test run; a database of its own, with the schema in place, for each that asks.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../../src/embedded/postgres/index.ts';
import { clearLeftover, isAlive } from '../../src/embedded/postgres/processes.ts';
import { connectPostgres, type Sql } from '../../src/infra/postgres/client.ts';
import { migrate } from '../../src/infra/postgres/migrate.ts';

export const silentLog = { debug() {}, info() {}, warn() {}, error() {} };

export const MIGRATIONS = join(import.meta.dir, '../../src/infra/postgres/migrations');

/** Connections of a test's own, which it ends. */
export const connectTo = (url: string, options: Partial<Parameters<typeof connectPostgres>[0]> = {}): Sql =>
  connectPostgres({ url, applicationName: 'test', log: silentLog, ...options });

/**
 * A busy machine takes its time, and a test may hold a transaction open until what it waits for has happened: the limits of
 * the service are those of its own connections.
 */
const UNHURRIED = { statementTimeoutMs: 120_000, settings: { idle_in_transaction_session_timeout: '0' } };

export type TestDatabase = AsyncDisposable & { url: string; sql: Sql; drop: () => Promise<void> };

/** What the processes of one run share: a server, and the database that all others are copies of. */
type Shared = { url: string; template: string };

type Server = Shared & { end: () => Promise<void> };

/** Folders of the run's servers are named after the process, so that a later run can tell whose they were. */
const FOLDER = /^atrium-test-postgres-(\d+)-/;

let server: Promise<Server & { admin: Sql }> | undefined;

/**
 * A fresh database with all migrations applied, on the server of the run (test/run.ts). A file that runs without it
 * starts a server at the first call, without fsync, or takes that of TEST_DATABASE_URL, whose role must be allowed to
 * create databases.
 */
export async function testDatabase(): Promise<TestDatabase> {
  server ??= openServer();
  const { admin, url, template } = await server;
  const name = `${template}_${crypto.randomUUID().replaceAll('-', '').slice(0, 12)}`;
  await admin.unsafe(`create database ${name} template ${template}`);
  const own = withDatabase(url, name);
  const sql = connectTo(own, { ...UNHURRIED, connectionsMax: 5 });
  const drop = async (): Promise<void> => {
    await sql.end({ timeout: 1 });
    await dropDatabase(admin, name);
  };
  return { url: own, sql, drop, [Symbol.asyncDispose]: drop };
}

/**
 * An autovacuum worker in the database is not ours to end; it leaves by itself. On a busy machine a session may need longer for its end
 * than the server waits for it.
 */
async function dropDatabase(admin: Sql, name: string, attempts = 50): Promise<void> {
  try {
    await admin.unsafe(`drop database if exists ${name} with (force)`);
  } catch (error) {
    const { code } = error as { code?: string };
    if ((code !== INSUFFICIENT_PRIVILEGE && code !== OBJECT_IN_USE) || attempts === 0) throw error;
    await Bun.sleep(200);
    await dropDatabase(admin, name, attempts - 1);
  }
}

const INSUFFICIENT_PRIVILEGE = '42501';
const OBJECT_IN_USE = '55006';

/** Ends what `testDatabase` started; called once after all tests. */
export async function endTestDatabases(): Promise<void> {
  const opened = server;
  server = undefined;
  if (opened === undefined) return;
  const { admin, end } = await opened;
  await admin.end({ timeout: 1 });
  await end();
}

async function openServer(): Promise<Server & { admin: Sql }> {
  const shared = sharedServer();
  const opened = shared === undefined ? await startServer() : { ...shared, end: async () => {} };
  return { ...opened, admin: connectAdmin(opened.url) };
}

function sharedServer(): Shared | undefined {
  const { TEST_DATABASE_URL: url, TEST_DATABASE_TEMPLATE: template } = process.env;
  return url === undefined || template === undefined ? undefined : { url, template };
}

/** The settings by which the processes of a run find its server. */
export const sharedBy = ({ url, template }: Shared): Record<string, string> => ({
  TEST_DATABASE_URL: url,
  TEST_DATABASE_TEMPLATE: template,
});

/** Starts a server, or takes that of TEST_DATABASE_URL, and makes the database that the others are copies of. */
export async function startServer(): Promise<Server> {
  const external = process.env['TEST_DATABASE_URL'];
  const { url, end } =
    external === undefined ? await startEmbedded() : { url: external, end: async () => {} };
  const template = `atrium_test_${process.pid}_${Date.now()}`;
  const admin = connectAdmin(url);
  try {
    await admin.unsafe(`create database ${template}`);
    await migrateTemplate(withDatabase(url, template));
  } catch (error) {
    await end();
    throw error;
  } finally {
    await admin.end({ timeout: 1 });
  }
  return {
    url,
    template,
    async end() {
      if (external !== undefined) await dropDatabases(url, template);
      await end();
    },
  };
}

const connectAdmin = (url: string): Sql => connectTo(url, { statementTimeoutMs: 60_000 });

async function startEmbedded() {
  await removeLeftovers();
  const directory = mkdtempSync(join(tmpdir(), `atrium-test-postgres-${process.pid}-`));
  const settings = {
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    shared_buffers: '128MB',
    max_connections: '500',
    // Tests that need statistics of the planner ask for them; a worker in every database of the run would cost more than most tests.
    autovacuum: 'off',
    max_wal_size: '256MB',
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
  const sql = connectTo(url);
  await migrate(sql, { directory: MIGRATIONS, log: silentLog });
  // A template can't be copied while somebody is connected.
  await sql.end({ timeout: 1 });
}

async function dropDatabases(url: string, template: string): Promise<void> {
  const admin = connectAdmin(url);
  const rows = await admin<{ name: string }[]>`
    select datname as name from pg_database where starts_with(datname, ${template})`;
  for (const { name } of rows) await admin.unsafe(`drop database if exists ${name} with (force)`);
  await admin.end({ timeout: 1 });
}

function withDatabase(url: string, name: string): string {
  const own = new URL(url);
  own.pathname = `/${name}`;
  return own.href;
}
