// What goes into the database comes out again; failures are told apart.

import { expect, test } from 'bun:test';
import { explainOutage, isUnavailable } from '../../src/infra/postgres/client.ts';
import { copyOut } from '../../src/infra/postgres/copy.ts';
import { DatabaseTimeout } from '../../src/infra/postgres/unavailable.ts';
import { eventually } from '../support/child.ts';
import { connectTo, testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';

const database = await shared(testDatabase());
const sql = database.sql;
await sql`create table items (id bigint primary key, note text)`;

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

test('values of every type we use survive the round trip', async () => {
  const date = new Date('2026-01-02T03:04:05.678Z');
  const [row] = await sql`
    select ${'é"\\'}::text as text, ${42}::int as int, ${9007199254740993n}::bigint as large, ${7}::bigint as small,
      ${true} as boolean, ${date}::timestamptz as instant, ${date}::timestamp as local, ${null}::text as nothing,
      ${sql.json({ a: [1, 'x'] })}::jsonb as json, ${Buffer.from([0, 255])}::bytea as bytes`;
  expect(row).toEqual({
    text: 'é"\\',
    int: 42,
    large: 9007199254740993n,
    small: 7,
    boolean: true,
    instant: date,
    local: date,
    nothing: null,
    json: { a: [1, 'x'] },
    bytes: Buffer.from([0, 255]),
  });
});

test('so do arrays, as parameters and with sql.array', async () => {
  const uuid = '0198c5a0-0000-7000-8000-000000000000';
  const [row] = await sql`
    select ${['a"b', null, 'NULL', '', '{,}\\']}::text[] as texts, ${[1, 9007199254740993n]}::bigint[] as numbers,
      ${sql.array(['x', 'y'])} as helped, ${[uuid]}::uuid[] as uuids, ${[]}::int[] as none,
      ${sql.array([new Date(0)])} as instants, ${sql.array([true, false])} as booleans`;
  expect(row).toEqual({
    texts: ['a"b', null, 'NULL', '', '{,}\\'],
    numbers: [1, 9007199254740993n],
    helped: ['x', 'y'],
    uuids: [uuid],
    none: [],
    instants: [new Date(0)],
    booleans: [true, false],
  });
});

test('json columns use the codec that is given', async () => {
  const json = { parse: (text: string) => `parsed ${text}`, serialize: () => '{"replaced":true}' };
  const other = connectTo(database.url, { json });
  const [row] = await other`select ${other.json({})}::jsonb as value`;
  expect(row).toEqual({ value: 'parsed {"replaced": true}' });
  await other.end();
});

test('fragments and helpers become part of a statement', async () => {
  await sql`insert into items ${sql([
    { id: 1, note: 'one' },
    { id: 2, note: 'two' },
  ])}`;
  const only = sql`where note = ${'two'}`;
  expect(await sql`select ${sql('id')} from ${sql('items')} ${only}`).toMatchObject([{ id: 2 }]);
});

test('a transaction is committed when its work resolves and undone when it rejects', async () => {
  await sql.begin((tx) => tx`insert into items values (10, 'kept')`);
  const failure = await failureOf(
    sql.begin(async (tx) => {
      await tx`insert into items values (11, 'undone')`;
      throw new Error('changed my mind');
    }),
  );
  expect(failure).toEqual(new Error('changed my mind'));
  expect(await sql`select id from items where id >= 10`).toMatchObject([{ id: 10 }]);
});

test("a statement's own mistake is not taken for an outage, a statement time-out is", async () => {
  const impatient = connectTo(database.url, { statementTimeoutMs: 100 });
  expect(isUnavailable(await failureOf(sql`select 1/0`))).toBe(false);
  expect(isUnavailable(await failureOf(sql`insert into nowhere values (1)`))).toBe(false);
  expect(isUnavailable(await failureOf(impatient`select pg_sleep(5)`))).toBe(true);
  expect(isUnavailable(Object.assign(new Error('of another client'), { code: 'ECONNREFUSED' }))).toBe(false);
  await impatient.end({ timeout: 1 });
});

test('what an outage is called says what the database does', async () => {
  const impatient = connectTo(database.url, { connectionsMax: 1, statementTimeoutMs: 100 });
  const away = connectTo('postgres://nobody@127.0.0.1:1/nowhere');
  const narrow = connectTo(database.url, { connectionsMax: 1, waitingMax: 0 });
  const readOnly = connectTo(database.url, { settings: { default_transaction_read_only: 'on' } });
  const sentenceOf = async (work: Promise<unknown>) => explainOutage(await failureOf(work))?.message;
  expect(await sentenceOf(impatient`select pg_sleep(5)`)).toBe('The database did not answer in time');
  expect(explainOutage(new DatabaseTimeout(11_000))?.message).toBe('The database did not answer in time');
  expect(await sentenceOf(away`select 1`)).toBe('The database cannot be reached');
  expect(await sentenceOf(readOnly`insert into items values (2)`)).toBe('The database is read-only');
  const running = narrow`select pg_sleep(0.1)`.then(() => undefined);
  expect(await sentenceOf(narrow`select 1`)).toBe('The database lacks the resources to answer');
  await running;
  expect(await sentenceOf(sql`select 1/0`)).toBeUndefined();
  await Promise.all([impatient, away, narrow, readOnly].map((each) => each.end({ timeout: 1 })));
});

test('a statement that fails after its first rows leaves the rows of the next one alone', async () => {
  const narrow = connectTo(database.url, { connectionsMax: 1, statementTimeoutMs: 500 });
  const reserved = narrow.reserve();
  for (const connection of [narrow, reserved]) {
    const failing = {
      mistake: () => connection`select 1 / (3 - n) from generate_series(1, 9) as n`,
      // Rows are sent once they fill the server's buffer.
      timeout: () => connection`select pg_sleep(case n when 9 then 60 else 0 end), repeat('x', 9000)
        from generate_series(1, 9) as n`,
    };
    for (const fail of Object.values(failing)) {
      const statements = [fail(), connection`select 1 as one`, connection`select 2 as two`];
      const [failed, ...next] = await Promise.allSettled(statements);
      expect(failed?.status).toBe('rejected');
      expect(next).toEqual([
        { status: 'fulfilled', value: [{ one: 1 }] as never },
        { status: 'fulfilled', value: [{ two: 2 }] as never },
      ]);
      await failureOf(fail());
      const [row] = await connection`select 3 as three`;
      expect(row).toEqual({ three: 3 });
    }
  }
  reserved.release();
  await narrow.end({ timeout: 1 });
});

test('nobody waits for a free connection for longer than for an answer', async () => {
  const narrow = connectTo(database.url, { statementTimeoutMs: 1000, connectionsMax: 2 });
  let free = () => {};
  const taken = narrow.begin(() => new Promise<void>((resolve) => (free = resolve)));
  await sql`select 1`;
  // Transactions leave connections to statements.
  expect(await narrow`select 1 as one`).toEqual([{ one: 1 }] as never);
  expect(isUnavailable(await failureOf(narrow.begin((tx) => tx`select 1`)))).toBe(true);
  free();
  await taken;
  expect(await narrow`select 1 as one`).toMatchObject([{ one: 1 }]);
  await narrow.end({ timeout: 1 });
});

test('a pool says which of its connections are busy, and what waits for one', async () => {
  const narrow = connectTo(database.url, { connectionsMax: 2 });
  expect(narrow.use()).toEqual({ busy: 0, max: 2, waiting: 0 });
  const holder = sql.reserve();
  await holder`select pg_advisory_lock(18)`;
  const wait = () => narrow`select pg_advisory_xact_lock_shared(18)`.then(() => 'done');
  const transactions = [1, 2, 3].map(() =>
    narrow.begin((tx) => tx`select pg_advisory_xact_lock_shared(18)`.then(() => 'done')),
  );
  const statements = Array.from({ length: 20 }, wait);
  await eventually('all to wait', () => narrow.use().busy === 2);
  expect(narrow.use().waiting).toBe(21);
  holder.release();
  await Promise.all([...transactions, ...statements]);
  await eventually('nothing to be left', () => narrow.use().busy + narrow.use().waiting === 0);
  await narrow.end({ timeout: 1 });
});

test('only so many statements wait at once: one more is refused, and taken when there is room', async () => {
  const narrow = connectTo(database.url, { applicationName: 'narrow', connectionsMax: 1, waitingMax: 2 });
  const holder = sql.reserve();
  await holder`select pg_advisory_lock(17)`;
  const taken = [1, 2, 3].map(() => narrow`select pg_advisory_xact_lock_shared(17)`.then(() => 'done'));
  const refused = await failureOf(narrow`select 1`);
  expect(refused).toMatchObject({ message: 'More than 2 statements wait for the database' });
  expect(isUnavailable(refused)).toBe(true);
  await holder`select pg_advisory_unlock(17)`;
  expect(await Promise.all(taken)).toEqual(['done', 'done', 'done']);
  holder.release();
  expect(await narrow`select 1 as one`).toMatchObject([{ one: 1 }]);
  await narrow.end({ timeout: 1 });
});

test('a reserved connection is its own session and refuses statements once it is lost', async () => {
  let lost = 0;
  const reserved = sql.reserve({ onLost: () => (lost += 1) });
  const [session] = await reserved<{ pid: number }[]>`select pg_backend_pid() as pid`;
  const [again] = await reserved<{ pid: number }[]>`select pg_backend_pid() as pid`;
  expect(again).toEqual(session);
  await sql`select pg_terminate_backend(${session?.pid ?? 0})`;
  expect(isUnavailable(await failureOf(reserved`select pg_sleep(1)`))).toBe(true);
  expect(isUnavailable(await failureOf(reserved`select 1`))).toBe(true);
  expect(lost).toBe(1);
  reserved.release();
});

test('rows that are copied out come whole, however many, and the connection goes on', async () => {
  const connection = sql.reserve();
  try {
    for (const count of [0, 1, 30, 1000]) {
      const rows = `SELECT n, repeat('x', 1000) FROM generate_series(1, ${count}) AS n`;
      let bytes = 0;
      for await (const part of copyOut(connection, `COPY (${rows}) TO STDOUT`)) bytes += part.length;
      const [expected] = await connection.unsafe<{ bytes: number }[]>(
        `SELECT coalesce(sum(length(n::text) + 1002), 0)::int AS bytes FROM (${rows}) AS r`,
      );
      expect(bytes).toBe(expected?.bytes ?? 0);
    }
  } finally {
    connection.release();
  }
});

test('after its end the client refuses statements and opens no connections', async () => {
  const ended = connectTo(database.url, { applicationName: 'ended' });
  await ended`select 1`;
  await ended.end();
  expect(isUnavailable(await failureOf(ended`select 1`))).toBe(true);
  expect(isUnavailable(await failureOf(ended.begin((tx) => tx`select 1`)))).toBe(true);
  // The server ends a session a moment after its client has; one that was opened now would stay.
  await eventually('no session to be left', async () => {
    const left = await sql`
      select from pg_stat_activity where datname = current_database() and application_name = 'ended'`;
    return left.length === 0;
  });
});

/** The session that runs the statement, seen from another one. */
async function terminateSessionOf(marker: string): Promise<void> {
  await eventually('the session', async () => {
    const ended = await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query like ${`%${marker}%`} and pid <> pg_backend_pid()`;
    return ended.length > 0;
  });
}

test('a session that is ended amid a statement fails that one, and the next one succeeds', async () => {
  const own = connectTo(database.url, { connectionsMax: 2 });
  const cut = failureOf(own`select pg_sleep(600), 'amid-statement'`);
  await terminateSessionOf('amid-statement');
  expect(isUnavailable(await cut)).toBe(true);
  expect(await Promise.all([own`select 1 as one`, own`select 1 as one`])).toMatchObject([
    [{ one: 1 }],
    [{ one: 1 }],
  ]);
  await own.end({ timeout: 1 });
});

test('a session that is ended amid a transaction, in a statement or between two, fails it as a whole', async () => {
  const own = connectTo(database.url, { connectionsMax: 2 });
  const inStatement = failureOf(
    own.begin(async (tx) => {
      await tx`insert into items values (20, 'lost')`;
      await tx`select pg_sleep(600), 'amid-transaction'`.catch(() => {});
      await tx`insert into items values (21, 'must not be alone')`;
    }),
  );
  await terminateSessionOf('amid-transaction');
  expect(isUnavailable(await inStatement)).toBe(true);

  let inner: unknown;
  const between = await failureOf(
    own.begin(async (tx) => {
      const [session] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
      await sql`select pg_terminate_backend(${session?.pid ?? 0})`;
      await eventually('its end', async () => {
        const sessions = await sql`select from pg_stat_activity where pid = ${session?.pid ?? 0}`;
        return sessions.length === 0;
      });
      inner = await failureOf(tx`insert into items values (22, 'lost')`);
      throw inner;
    }),
  );
  expect(isUnavailable(between)).toBe(true);
  expect(isUnavailable(await eventually('the statement', () => inner))).toBe(true);
  expect(await own`select id from items where id between 20 and 29`).toHaveLength(0);
  await own.end({ timeout: 1 });
});

test('transactions amid a flood of statements keep to themselves', async () => {
  const name = `flood_${Date.now()}`;
  await sql.unsafe(`create table ${name} (round int, step int)`);
  const transaction = (round: number) =>
    sql.begin(async (tx) => {
      await tx.unsafe(`insert into ${name} values (${round}, 1)`);
      await tx.unsafe(`insert into ${name} values (${round}, 2)`);
      if (round % 2 === 0) throw new Error('rolled back');
    });
  let rounds = 0;
  const failures: string[] = [];
  const worker = async () => {
    while (rounds < 1500) {
      const round = rounds++;
      const work = round % 5 === 0 ? transaction(round / 5) : sql`select ${round}::int`;
      await work.catch((error: Error) => failures.push(error.message));
    }
  };
  await Promise.all(Array.from({ length: 64 }, worker));
  expect(failures.filter((message) => message !== 'rolled back')).toEqual([]);
  const rows = await sql.unsafe(
    `select round from ${name} group by round having count(*) = 2 and round % 2 = 1`,
  );
  expect(rows).toHaveLength(150);
  expect(await sql.unsafe(`select 1 from ${name} where round % 2 = 0`)).toHaveLength(0);
});
