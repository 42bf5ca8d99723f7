// Rows that come as one text are those that the query selects.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { packedRows } from '../../src/infra/postgres/packed.ts';
import { testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';

const { sql } = await shared(testDatabase());

/** No text of Postgres has a NUL. */
const text = fc
  .oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', '\x1f', '\x1f\x1f', '"', '\\', "','"))
  .map((each) => each.toWellFormed().replaceAll('\0', ''));

test('values come back as they were, whatever characters they have, in the order of the query', async () => {
  const pair = fc.record({ one: text, other: fc.option(text) });
  await fc.assert(
    fc.asyncProperty(fc.array(pair, { maxLength: 8 }), async (pairs) => {
      const query = sql`
        SELECT place, one, coalesce(other, '') AS other
        FROM unnest(${pairs.map(({ one }) => one)}::text[], ${pairs.map(({ other }) => other)}::text[])
          WITH ORDINALITY AS given (one, other, place)
        ORDER BY place DESC`;
      expect(await packedRows(sql, 'place, one, other', query)).toEqual(
        pairs.map(({ one, other }, at) => ({ place: `${at + 1}`, one, other: other ?? '' })).reverse(),
      );
    }),
  );
});

test('rows of empty texts are rows', async () => {
  const query = sql`SELECT '' AS value FROM generate_series(1, 2)`;
  expect(await packedRows(sql, 'value', query)).toEqual([{ value: '' }, { value: '' }]);
});
