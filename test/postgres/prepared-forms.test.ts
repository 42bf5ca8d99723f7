// Searches combine filters without end: a connection keeps some forms of statements prepared, and no more.

import { expect, test } from 'bun:test';
import { connectForSearch } from '../../src/database.ts';
import type { Transaction } from '../../src/infra/postgres/client.ts';
import { createPreparedForms } from '../../src/infra/postgres/prepared-forms.ts';
import type { Query } from '../../src/infra/postgres/query-timeout.ts';
import { silentLog, testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';

const database = await shared(testDatabase());

/** One of as many forms as there are numbers, with a parameter for each of its bits. */
const statementOf = (sql: Transaction, number: number) => {
  const conditions = [...number.toString(2)].map((bit) =>
    bit === '1' ? sql`AND 1 = ${1}::int` : sql`AND ${'x'}::text = 'x'`,
  );
  return sql<{ number: number }[]>`SELECT ${number}::int AS number WHERE true ${conditions}`;
};

test('a connection for searches keeps 256 forms prepared, and answers all others', async () => {
  const sql = connectForSearch(database.url, silentLog);
  try {
    for (let number = 0; number < 1000; number++)
      expect(await statementOf(sql, number)).toMatchObject([{ number }]);
    // Those that were first are still prepared; the next one has a form of its own.
    expect((await statementOf(sql, 1)).statement).toMatchObject({ name: expect.stringMatching(/./) });
    const [row] = await sql<{ kept: number }[]>`SELECT count(*)::int AS kept FROM pg_prepared_statements`;
    expect(row?.kept).toBe(256);
  } finally {
    await sql.end({ timeout: 1 });
  }
});

test('a statement of very many fragments is not kept, and one of a form that is known is', async () => {
  const { sql } = database;
  const isPrepared = createPreparedForms(2);
  const ask = (number: number) => isPrepared(statementOf(sql, number) as unknown as Query);
  expect([ask(0b101), ask(0b11), ask(0b10), ask(0b101)]).toEqual([true, true, false, true]);
  const many = sql`SELECT ${Array.from({ length: 200 }, () => sql`1 +`)} 1`;
  expect(createPreparedForms()(many as unknown as Query)).toBe(false);
});

test('after the life of a connection other forms are kept', () => {
  const { sql } = database;
  let nowMs = 0;
  const isPrepared = createPreparedForms(1, () => nowMs);
  const ask = (number: number) => isPrepared(statementOf(sql, number) as unknown as Query);
  expect([ask(1), ask(0)]).toEqual([true, false]);
  nowMs = 3_600_001;
  expect([ask(0), ask(1)]).toEqual([true, false]);
});
