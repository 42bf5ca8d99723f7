// A statement whose caller leaves ends at the server, and no other statement does.

import { expect, test } from 'bun:test';
import { cancelledBy } from '../../src/infra/postgres/client.ts';
import { eventually } from '../support/child.ts';
import { connectTo, testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';

const database = await shared(testDatabase());
const { sql } = database;

/** A client with one connection, over which nothing ends by itself. */
function unlimited() {
  const name = `cancelled-${crypto.randomUUID()}`;
  const client = connectTo(database.url, { applicationName: name, connectionsMax: 1, statementTimeoutMs: 0 });
  return {
    client,
    running: async (part: string): Promise<boolean> => {
      const rows = await sql`
        SELECT FROM pg_stat_activity WHERE application_name = ${name} AND state = 'active' AND query LIKE ${`%${part}%`}`;
      return rows.length > 0;
    },
    [Symbol.asyncDispose]: () => client.end({ timeout: 0 }),
  };
}

const outcomeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'answered',
    (error: unknown) => error,
  );

const LEFT = new Error('the caller has left');

test('a statement is cancelled when the signal aborts, and those behind it are answered', async () => {
  await using one = unlimited();
  const leaving = new AbortController();
  const left = outcomeOf(cancelledBy(one.client, leaving.signal)`SELECT pg_sleep(3600)`);
  await eventually('the statement', () => one.running('pg_sleep'));
  const others = Array.from({ length: 50 }, () => one.client`SELECT 1 AS one`);
  leaving.abort(LEFT);
  expect(await left).toBe(LEFT);
  for (const rows of await Promise.all(others)) expect([...rows]).toEqual([{ one: 1 }]);
  await eventually('the end of the statement', async () => !(await one.running('pg_sleep')));
});

test('one that waits for a connection is never sent, and the statement before it is answered', async () => {
  await using one = unlimited();
  await using holder = unlimited();
  await holder.client`SELECT pg_advisory_lock(4711)`;
  const before = outcomeOf(one.client`SELECT pg_advisory_xact_lock(4711)`);
  await eventually('the statement before', () => one.running('pg_advisory_xact_lock'));
  const leaving = new AbortController();
  const left = outcomeOf(cancelledBy(one.client, leaving.signal)`SELECT pg_sleep(3600)`);
  leaving.abort(LEFT);
  expect(await left).toBe(LEFT);
  await holder.client`SELECT pg_advisory_unlock(4711)`;
  expect(await before).toBe('answered');
  expect(await outcomeOf(one.client`SELECT 1`)).toBe('answered');
});

test('one that has ended, or whose signal has aborted before, costs nothing', async () => {
  await using one = unlimited();
  const leaving = new AbortController();
  const of = cancelledBy(one.client, leaving.signal);
  const part = of`1 AS one`;
  expect([...(await of`SELECT ${part}`)]).toEqual([{ one: 1 }]);
  leaving.abort(LEFT);
  expect(await outcomeOf(of`SELECT pg_sleep(3600)`)).toBe(LEFT);
  expect(await outcomeOf(one.client`SELECT 1`)).toBe('answered');
  expect(await one.running('pg_sleep')).toBeFalse();
});
