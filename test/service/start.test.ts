// A service that starts from damaged leftovers, and answers what no ordinary client sends.

import { expect, test } from 'bun:test';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { eventually } from '../support/child.ts';
import { testDatabase } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';
import { BOOTSTRAP_KEY, refusalOf, startService, WORKSPACE } from '../support/service.ts';

/** The status of the answer to a head that is sent as it stands. */
function statusOf(url: string, head: string[]): Promise<number> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(`${head.join('\r\n')}\r\n\r\n`));
    socket.on('data', (bytes) => {
      resolve(Number(/^HTTP\/1\.1 (\d{3}) /.exec(bytes.toString('latin1'))?.[1]));
      socket.destroy();
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('no answer')));
  });
}

test('a request whose Host header is malformed or absent is answered as any other', async () => {
  await using service = await startService();
  for (const host of [
    'host: a b',
    'host: ',
    'host: [::1',
    'host: a/b',
    'host: a?b',
    'host: %zz',
    'x-none: 1',
  ]) {
    const version = host.startsWith('host') ? '1.1' : '1.0';
    const ask = (path: string) =>
      statusOf(service.url, [`GET ${path} HTTP/${version}`, host, `APIKeyHeader: ${BOOTSTRAP_KEY}`]);
    expect([host, await ask(`/v1/${WORKSPACE}/trash?limit=1`)]).toEqual([host, 200]);
    expect([host, await ask(`/v1/${WORKSPACE}/trash?limit=0`)]).toEqual([host, 422]);
    expect([host, await ask(`/v1/${WORKSPACE}/upload/confirm`)]).toEqual([host, 405]);
    expect([host, await ask('/nowhere/at/all/to/be/found')]).toEqual([host, 404]);
  }
  expect(service.child.output()).not.toContain('"level":"error"');
});

test.each(['', '{"secretAccessKey":"abc","po', 'null'])(
  'an object-store.json that holds %j is replaced, and said to be damaged',
  async (content) => {
    const dataDir = freshFolder();
    await using database = await testDatabase();
    const options = { dataDir, environment: { DATABASE_URL: database.url } };
    writeFileSync(join(dataDir, 'object-store.json'), content);
    {
      await using service = await startService(options);
      expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
      expect(service.child.output()).toContain('the file is damaged');
    }
    await using service = await startService(options);
    expect(service.child.output()).not.toContain('the file is damaged');
  },
);

test('a data folder of another PostgreSQL is refused before anything is touched', async () => {
  const dataDir = freshFolder();
  const file = join(dataDir, 'postgres/cluster/PG_VERSION');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, '17\n');
  const files = () => readdirSync(dataDir, { recursive: true }).toSorted();
  const before = files();
  expect(await refusalOf({ dataDir })).toMatch(/^atrium: The data in .* is of PostgreSQL 17, /);
  expect(files()).toEqual(before);
});

test('a server that is older than what is needed is refused before anything is touched', async () => {
  await using database = await testDatabase();
  const dataDir = freshFolder();
  const { sql, url } = database;
  const name = new URL(url).pathname.slice(1);
  await sql.unsafe('DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE SCHEMA older');
  // A real one of that age is hard to come by; this one says of itself that it is one.
  await sql.unsafe(
    `CREATE FUNCTION older.current_setting(text) RETURNS text LANGUAGE sql
     AS $$ SELECT CASE $1 WHEN 'server_version_num' THEN '140022' ELSE pg_catalog.current_setting($1) END $$`,
  );
  await sql.unsafe(`ALTER DATABASE ${name} SET search_path = older, pg_catalog, public`);
  expect(await refusalOf({ dataDir, environment: { DATABASE_URL: url } })).toBe(
    'atrium: DATABASE_URL: the server is PostgreSQL 14, and 15 or newer is needed',
  );
  const [tables] = await sql`SELECT count(*)::int AS n FROM pg_tables WHERE schemaname = 'public'`;
  expect(tables?.['n']).toBe(0);
});

test('a connection that is lost amid the first key does not end the start', async () => {
  await using database = await testDatabase();
  const { sql, url } = database;
  const holder = sql.reserve();
  await holder.unsafe('begin; lock table keys in access exclusive mode');
  const starting = startService({ environment: { DATABASE_URL: url } });
  await eventually('the first key to wait', async () => {
    const [waiting] = await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query ilike '%insert into keys%'`;
    return waiting !== undefined;
  });
  await holder.unsafe('rollback');
  holder.release();
  await using service = await starting;
  const answer = await fetch(`${service.url}/admin/api/status`, { headers: { APIKeyHeader: BOOTSTRAP_KEY } });
  expect(answer.status).toBe(200);
});
