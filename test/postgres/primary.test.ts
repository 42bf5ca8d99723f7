// Of several hosts the one that takes writes is used, whichever of the others refuse, hang, or are only for reading.

import { expect, test } from 'bun:test';
import { DATABASE_ADDRESS, parseAddress } from '../../src/infra/postgres/address.ts';
import { isUnavailable } from '../../src/infra/postgres/client.ts';
import { Primary } from '../../src/infra/postgres/primary.ts';
import { eventually, freePort } from '../support/child.ts';
import { connectTo, testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

const database = await shared(testDatabase());

/** The address of the database, with these ports in place of its own. */
function addressOf(...ports: readonly (number | string)[]): string {
  const { username, password, pathname } = new URL(database.url);
  const hosts = ports.map((port) => `127.0.0.1:${port}`);
  return `postgres://${username}:${password}@${hosts}${pathname}?target_session_attrs=read-write`;
}

const ownPort = new URL(database.url).port;

test('an address is read as libpq reads it', () => {
  const read = (text: string) => parseAddress(text)?.candidates;
  expect(read('postgres://u:p@one,two:5433/db')).toEqual([
    { host: 'one', port: 5432 },
    { host: 'two', port: 5433 },
  ]);
  expect(read('postgresql://u:p%40,@one:1/db?target_session_attrs=primary')).toEqual([
    { host: 'one', port: 1 },
  ]);
  expect(read('postgres://u:a,b@[::1]:1,[::2]/db')).toEqual([
    { host: '::1', port: 1 },
    { host: '::2', port: 5432 },
  ]);
  for (const one of ['postgres://u:a,b@one/db', 'postgres://one/db?target_session_attrs=any'])
    expect(read(one)).toEqual([]);
  const url = 'postgres://u:p@one:1,two/db?sslmode=require&target_session_attrs=read-write';
  expect(parseAddress(url)?.url).toBe('postgres://u:p@one:1/db?sslmode=require');
  expect(DATABASE_ADDRESS.show?.(url)).toBe('postgres://one:1,two/db');
  for (const wrong of ['', 'one,two', 'mysql://one,two/db', 'postgres://one,/db', 'postgres://one,two:x/db'])
    expect(read(wrong)).toBeUndefined();
});

test('a host that refuses and one that never answers are passed over', async () => {
  const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  const sql = connectTo(addressOf(freePort(), silent.port, ownPort));
  try {
    expect(await sql`SELECT 1 AS one`).toMatchObject([{ one: 1 }]);
    expect(await sql.begin((tx) => tx`SELECT 2 AS two`)).toMatchObject([{ two: 2 }]);
    const reserved = sql.reserve();
    expect(await reserved`SELECT 3 AS three`).toMatchObject([{ three: 3 }]);
    reserved.release();
  } finally {
    await sql.end({ timeout: 1 });
    silent.stop(true);
  }
});

test('where no host takes writes, each is named with its reason; a refusal of all of them is told as it is', async () => {
  const [one, two] = [freePort(), freePort()];
  const away = connectTo(addressOf(one, two));
  const error: unknown = await away`SELECT 1`.catch((caught: unknown) => caught);
  expect(isUnavailable(error)).toBeTrue();
  expect(`${error}`).toMatch(
    new RegExp(`no host takes writes: 127.0.0.1:${one} \\(.*REFUSED.*127.0.0.1:${two} \\(`),
  );
  await away.end({ timeout: 1 });
  const refused = connectTo(addressOf(ownPort, ownPort).replace(/:[^:@]*@/, ':wrong@'));
  await expect(refused`SELECT 1`.execute()).rejects.toMatchObject({ code: '28P01' });
  await refused.end({ timeout: 1 });
});

test('a host that stops answering is left for another, whose sessions replace those of the first', async () => {
  await using first = await startTcpProxy(database.url);
  await using second = await startTcpProxy(database.url);
  second.cut();
  let lost = false;
  const sql = connectTo(addressOf(first.port, second.port), { statementTimeoutMs: 1000 });
  try {
    const reserved = sql.reserve({
      onLost: () => {
        lost = true;
      },
    });
    await reserved`SELECT 1`;
    first.stall();
    second.heal();
    const answer = () =>
      sql`SELECT 1`.then(
        () => true,
        () => false,
      );
    await eventually('an answer', answer);
    expect(second.connections()).toBeGreaterThan(0);
    await eventually('the session of the first to be given up', () => lost);
  } finally {
    await sql.end({ timeout: 1 });
  }
});

test('the host that is used is kept while it takes writes, though another one takes them too', async () => {
  const asked: string[] = [];
  const readOnly = new Set(['one']);
  const candidates = ['one', 'two', 'three'].map((host) => ({ host, port: 9 }));
  const primary = new Primary(candidates, async ({ host }) => {
    asked.push(host);
    return !readOnly.has(host);
  });
  const used = async (): Promise<unknown> => {
    const before = asked.length;
    return eventually('a new look', async () => {
      const socket = await primary.open();
      const { host } = socket as unknown as { host: string };
      socket.on('error', () => undefined).destroy();
      return asked.length > before && host;
    });
  };
  expect(await used()).toBe('two');
  readOnly.clear();
  expect(await used()).toBe('two');
  readOnly.add('two');
  expect(await used()).toBe('one');
});
