// The embedded Postgres starts from whatever it finds, and leaves nothing running.

import { expect, test } from 'bun:test';
import { cpSync, existsSync, readdirSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chooseAccount, takeOwnership } from '../../src/embedded/postgres/account.ts';
import { readConnection, startPostgres } from '../../src/embedded/postgres/index.ts';
import { isAlive, readServerState } from '../../src/embedded/postgres/processes.ts';
import { findPrograms } from '../../src/embedded/postgres/programs.ts';
import type { Sql } from '../../src/infra/postgres/client.ts';
import { eventually, freePort, startChild } from '../support/child.ts';
import { connectTo, silentLog } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';

const MODULE = join(import.meta.dir, '../../src/embedded/postgres/index.ts');
const root = freshFolder();

let prepared: Promise<string> | undefined;
let copies = 0;

/** A copy of a folder that has been started once: setting one up takes a second. */
async function preparedFolder(): Promise<string> {
  prepared ??= (async () => {
    const directory = join(root, 'prepared');
    const postgres = await startPostgres({ directory, log: silentLog });
    await withSql(postgres.url, (sql) => sql`create table notes (text text)`);
    await postgres.stop();
    return directory;
  })();
  copies += 1;
  const copy = join(root, `copy-${copies}`);
  cpSync(await prepared, copy, { recursive: true });
  return copy;
}

async function withSql<T>(url: string, use: (sql: Sql) => Promise<T>): Promise<T> {
  const sql = connectTo(url);
  try {
    return await use(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Another process that starts Postgres in the directory and then does nothing. */
function startInChild(directory: string) {
  const script = `const { startPostgres } = await import(process.env.MODULE);
    const log = { info() {}, warn() {} };
    const postgres = await startPostgres({ directory: process.env.DIRECTORY, log });
    console.log('url ' + postgres.url);
    await Bun.sleep(60_000);`;
  return startChild([process.execPath, '-e', script], { environment: { MODULE, DIRECTORY: directory } });
}

/** Every file with its size, its owner and when it was last written to. */
const stateOf = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map((name) => {
      const { size, uid, mode, mtimeMs } = statSync(join(directory, name));
      return [name, size, uid, mode, mtimeMs].join(' ');
    });

const postmasterOf = (directory: string): number => readServerState(join(directory, 'cluster'))?.pid ?? 0;

test('the first start sets up a cluster whose role is no superuser and whose files are private', async () => {
  const directory = join(root, 'first');
  const postgres = await startPostgres({ directory, log: silentLog });
  await withSql(postgres.url, async (sql) => {
    const [row] = await sql`
      select rolsuper as superuser, current_setting('data_checksums') as checksums, current_setting('fsync') as fsync,
        current_setting('listen_addresses') as addresses, current_setting('TimeZone') as zone,
        (select string_agg(word, '' order by word) from unnest(array['é', 'b', 'Z', 'a']) as word) as sorted
      from pg_roles where rolname = current_user`;
    expect(row).toMatchObject({
      superuser: false,
      checksums: 'on',
      fsync: 'on',
      addresses: '127.0.0.1',
      zone: 'UTC',
      sorted: 'Zabé',
    });
  });
  for (const file of ['password', 'connection.json', 'postgres.log'])
    expect(statSync(join(directory, file)).mode & 0o077).toBe(0);
  expect(readConnection(directory)).toBe(postgres.url);
  await postgres.stop();
  expect(await postgres.exited).toBe(0);
  expect(readConnection(directory)).toBeUndefined();
});

test('what was written is there after a restart, and the password stays', async () => {
  const directory = await preparedFolder();
  const first = await startPostgres({ directory, log: silentLog });
  await withSql(first.url, (sql) => sql`insert into notes values ('kept')`);
  await first.stop();
  const second = await startPostgres({ directory, log: silentLog });
  expect(await withSql(second.url, (sql) => sql`select text from notes`)).toMatchObject([{ text: 'kept' }]);
  expect(new URL(second.url).password).toBe(new URL(first.url).password);
  await second.stop();
});

test('after kill -9 of the owner the next start takes over, and nothing committed is lost', async () => {
  const directory = await preparedFolder();
  const owner = startInChild(directory);
  const url = await eventually('Postgres', () => /url (\S+)/.exec(owner.output())?.[1]);
  await withSql(url, (sql) => sql`insert into notes values ('committed')`);
  owner.kill('SIGKILL');
  await owner.exited;
  const postgres = await startPostgres({ directory, log: silentLog });
  expect(await withSql(postgres.url, (sql) => sql`select text from notes`)).toMatchObject([
    { text: 'committed' },
  ]);
  await postgres.stop();
});

test('kill -9 of owner and server at once is recovered from', async () => {
  const directory = await preparedFolder();
  const owner = startInChild(directory);
  const url = await eventually('Postgres', () => /url (\S+)/.exec(owner.output())?.[1]);
  await withSql(url, (sql) => sql`insert into notes values ('committed')`);
  process.kill(postmasterOf(directory), 'SIGKILL');
  owner.kill('SIGKILL');
  await owner.exited;
  const postgres = await startPostgres({ directory, log: silentLog });
  expect(await withSql(postgres.url, (sql) => sql`select text from notes`)).toMatchObject([
    { text: 'committed' },
  ]);
  await postgres.stop();
});

test.if(process.platform === 'linux')('no server outlives its killed owner', async () => {
  const directory = await preparedFolder();
  const owner = startInChild(directory);
  await eventually('Postgres', () => owner.output().includes('url '));
  const server = postmasterOf(directory);
  owner.kill('SIGKILL');
  await eventually('the end of the server', () => !isAlive(server));
});

test('a server that was left running, even a stopped one, is shut down first', async () => {
  const directory = await preparedFolder();
  const cluster = join(directory, 'cluster');
  const { postgres: program } = findPrograms();
  const { launcher, owner } = chooseAccount({ postgres: program, cluster });
  if (owner !== undefined) takeOwnership(cluster, owner);
  const flags = ['-p', `${freePort()}`, '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='];
  const leftover = startChild([...launcher, program, '-D', cluster, ...flags]);
  await eventually('the leftover', () => readServerState(cluster)?.ready === true);
  leftover.kill('SIGSTOP');
  const postgres = await startPostgres({ directory, log: silentLog });
  expect(await leftover.exited).toBe(0);
  expect(await withSql(postgres.url, (sql) => sql`select 1 as one`)).toMatchObject([{ one: 1 }]);
  await postgres.stop();
});

test.if(process.platform === 'linux')(
  'a backend that never notices the end of its killed server does not keep the next one from starting',
  async () => {
    const directory = await preparedFolder();
    const killed = await startPostgres({ directory, log: silentLog });
    const sql = connectTo(killed.url);
    const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
    if (row === undefined) throw new Error('there is no backend');
    const backend = row.pid;
    const server = readServerState(join(directory, 'cluster'));
    try {
      // As one that waits for a lock of a backend that was killed.
      process.kill(backend, 'SIGSTOP');
      if (server === undefined) throw new Error('the server has no process');
      process.kill(server.pid, 'SIGKILL');
      await killed.exited;
      const next = await startPostgres({ directory, log: silentLog });
      expect(isAlive(backend)).toBeFalse();
      await withSql(next.url, (other) => other`select 1`);
      await next.stop();
    } finally {
      if (isAlive(backend)) process.kill(backend, 'SIGKILL');
      await sql.end({ timeout: 1 });
    }
  },
);

test("a stale pid file is no obstacle, even if its number is now another process's", async () => {
  const directory = await preparedFolder();
  // A process of the user that Postgres runs as: for any other, Postgres itself would see through it.
  const { launcher } = chooseAccount({
    postgres: findPrograms().postgres,
    cluster: join(directory, 'cluster'),
  });
  const bystander = startChild([...launcher, 'sleep', '900']);
  const started = Math.round(Date.now() / 1000);
  writeFileSync(
    join(directory, 'cluster/postmaster.pid'),
    `${bystander.pid}\n${join(directory, 'cluster')}\n${started}\n1\n\n127.0.0.1\n1 1\nready   \n`,
  );
  const postgres = await startPostgres({ directory, log: silentLog });
  expect(isAlive(bystander.pid)).toBe(true);
  await postgres.stop();
  await bystander.stop();
});

test('a set-up that was killed half-way is done again', async () => {
  const unfinishedIn = (directory: string) =>
    existsSync(directory)
      ? readdirSync(directory).filter((name) => name.startsWith('cluster.unfinished'))
      : [];
  // The set-up may be over before it is seen that it has begun.
  let tries = 0;
  const directory = await eventually('a set-up that is killed half-way', async () => {
    const tried = join(root, `half-way-${tries++}`);
    const owner = startInChild(tried);
    const isDone = () => existsSync(join(tried, 'cluster'));
    await eventually(
      'initdb at work',
      () => isDone() || unfinishedIn(tried).some((name) => existsSync(join(tried, name, 'base/1'))),
    );
    owner.kill('SIGKILL');
    await owner.exited;
    return !isDone() && tried;
  });
  expect(unfinishedIn(directory)).not.toEqual([]);
  const postgres = await startPostgres({ directory, log: silentLog });
  expect(await withSql(postgres.url, (sql) => sql`select 1 as one`)).toMatchObject([{ one: 1 }]);
  await postgres.stop();
  const again = await startPostgres({ directory, log: silentLog });
  await again.stop();
  expect(unfinishedIn(directory)).toEqual([]);
});

test('the end of a server that nobody asked for is reported', async () => {
  const directory = await preparedFolder();
  const postgres = await startPostgres({ directory, log: silentLog });
  process.kill(postmasterOf(directory), 'SIGKILL');
  expect(await postgres.exited).not.toBe(0);
  expect(readConnection(directory)).toBeUndefined();
});

test.each(['17', '19'])(
  'the data of PostgreSQL %s is refused with what to do, and left as it is',
  async (major) => {
    const directory = await preparedFolder();
    const cluster = join(directory, 'cluster');
    // The file that every version puts there for the others; the rest is of ours.
    writeFileSync(join(cluster, 'PG_VERSION'), `${major}\n`);
    // What a server that was killed leaves, which a start removes.
    writeFileSync(join(cluster, 'postmaster.pid'), '4194304\n');
    const before = stateOf(directory);
    const start = startPostgres({ directory, log: silentLog });
    await expect(start).rejects.toThrow(
      `The data in ${realpathSync(cluster)} is of PostgreSQL ${major}, which this version of Atrium cannot read: it brings PostgreSQL 18. Nothing was changed. Start the version of Atrium that ran on it last, and take the data over as docs/operating/running.md says under "Another PostgreSQL"`,
    );
    expect(stateOf(directory)).toEqual(before);
  },
);

test("a failed start throws one line with the server's own words", async () => {
  const directory = await preparedFolder();
  const start = startPostgres({ directory, log: silentLog, settings: { shared_buffers: 'plenty' } });
  await expect(start).rejects.toThrow(/^The embedded Postgres did not start .*invalid value.*"plenty"$/);
});

test('a port that stays taken is named in the error', async () => {
  const directory = await preparedFolder();
  const taken = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  const start = startPostgres({ directory, log: silentLog, port: taken.port });
  await expect(start).rejects.toThrow(/could not bind|Address already in use|could not create any TCP/);
  taken.stop(true);
});
