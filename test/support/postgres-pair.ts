// Two Postgres servers of a test's own: a primary, and a standby that has each transaction before it is acknowledged.

import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLUSTER, ROLE } from '../../src/embedded/postgres/cluster.ts';
import type { Sql } from '../../src/infra/postgres/client.ts';
import { eventually } from './child.ts';
import { connectTo } from './database.ts';
import { type PostgresUnderTest, startPostgresServer } from './postgres-server.ts';

export type PostgresPair = AsyncDisposable & {
  /** Of both, the primary of the beginning first. */
  url: string;
  first: PostgresUnderTest;
  second: PostgresUnderTest;
  /** The second takes writes from here on. */
  promote(): Promise<void>;
  /** Sessions of the first go on, and write no more; resolves when the second has all that was written. */
  fence(): Promise<void>;
  /** Starts the first again, after it was killed, as a standby. */
  comeBack(): Promise<void>;
};

const STANDBY = 'standby';
/** What is lost with the power of the machine is not what a pair is for. */
const SETTINGS = { fsync: 'off', max_wal_size: '256MB' };

/** The second is a copy of the first, which was killed for it. */
export async function startPostgresPair(): Promise<PostgresPair> {
  await using begun = new AsyncDisposableStack();
  const [one, two] = [freshDirectory(), freshDirectory()];
  const first = begun.use(await startPostgresServer({ directory: one, settings: SETTINGS }));
  await asSuperuser(first.url, (sql) => sql`SELECT pg_create_physical_replication_slot(${STANDBY}, true)`);
  await first.kill();
  rmSync(two, { recursive: true });
  Bun.spawnSync(['cp', '-a', one, two]);
  rmSync(join(two, CLUSTER, 'postmaster.pid'), { force: true });
  followFrom(two, first.url);
  await first.start();
  const second = begun.use(await startPostgresServer({ directory: two, settings: SETTINGS }));
  await replicateSynchronously(first.url);
  const kept = begun.move();
  return {
    url: urlOf(first.url, second.url),
    first,
    second,
    async promote() {
      await asSuperuser(second.url, (sql) => sql`SELECT pg_promote(true, 60)`);
    },
    fence: () => asSuperuser(first.url, fence),
    async comeBack() {
      followFrom(one, second.url);
      await first.start();
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

const freshDirectory = (): string => mkdtempSync(join(tmpdir(), 'atrium-postgres-'));

function urlOf(first: string, second: string): string {
  const url = new URL(first);
  const hosts = `${url.host},${new URL(second).host}`;
  return `postgres://${url.username}:${url.password}@${hosts}/${ROLE}?target_session_attrs=read-write`;
}

/** The server in the folder is a standby at its next start. */
function followFrom(directory: string, url: string): void {
  const { port, password } = new URL(url);
  const source = `host=127.0.0.1 port=${port} user=postgres password=${password} application_name=${STANDBY}`;
  const cluster = join(directory, CLUSTER);
  appendFileSync(
    join(cluster, 'postgresql.auto.conf'),
    `primary_conninfo = '${source}'\nprimary_slot_name = '${STANDBY}'\n`,
  );
  writeFileSync(join(cluster, 'standby.signal'), '');
}

async function replicateSynchronously(url: string): Promise<void> {
  await asSuperuser(url, async (sql) => {
    await sql.unsafe(`ALTER SYSTEM SET synchronous_standby_names = '${STANDBY}'`);
    await sql`SELECT pg_reload_conf()`;
    await eventually('the standby to be synchronous', async () => {
      const [row] = await sql`SELECT FROM pg_stat_replication WHERE sync_state = 'sync'`;
      return row !== undefined;
    });
  });
}

async function fence(sql: Sql): Promise<void> {
  await sql.unsafe('ALTER SYSTEM SET default_transaction_read_only = on');
  await sql`SELECT pg_reload_conf()`;
  await eventually('all that was written to be at the standby', async () => {
    const [row] = await sql<{ done: boolean }[]>`
      SELECT current_setting('transaction_read_only') = 'on' AND replay_lsn >= pg_current_wal_lsn() AND NOT EXISTS (
        SELECT FROM pg_stat_activity WHERE backend_xid IS NOT NULL) AS done
      FROM pg_stat_replication`;
    return row?.done === true;
  });
}

/** Both roles of an embedded server have one password. */
async function asSuperuser(url: string, run: (sql: Sql) => PromiseLike<unknown>): Promise<void> {
  const own = new URL(url);
  Object.assign(own, { username: 'postgres', pathname: '/postgres' });
  const sql = connectTo(own.href, { statementTimeoutMs: 120_000 });
  try {
    await run(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}
