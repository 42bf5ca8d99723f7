// The page of growing tables is complete: an operator finds each table there, and no table that does not exist.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readTables } from '../../src/infra/postgres/tables.ts';
import { SETTINGS } from '../../src/settings.ts';
import { createRetention } from '../../src/usage/store/retention.ts';
import { testDatabase } from '../support/database.ts';

const page = readFileSync(join(import.meta.dir, '../../docs/operating/tables.md'), 'utf8');

test('every table of the schema is on the page, and every table of the page is in the schema', async () => {
  await using database = await testDatabase();
  const tables = (await readTables(database.sql)).map(({ name }) => name);
  const named = [...page.matchAll(/`([a-z_]+)`/g)].map(([, name = '']) => name);
  expect(named.toSorted()).toEqual(tables.toSorted());
});

test('every setting on the page exists', () => {
  const named = [...page.matchAll(/`([A-Z_]+)`/g)].map(([, name = '']) => name);
  expect(named.length).toBeGreaterThan(8);
  expect(named.filter((name) => !(name in SETTINGS))).toEqual([]);
});

test('EVENT_RETENTION_DAYS takes dead letters and empty counts along, and leaves what is younger', async () => {
  await using database = await testDatabase();
  const { sql } = database;
  await sql`INSERT INTO usage_counts (workspace_id, grain, start, events)
    SELECT 'acme', grain, start, events FROM (VALUES
      (60, timestamp '2020-01-01', 0), (86400, timestamp '2020-01-01', 0), (86400, timestamp '2020-01-02', 5),
      (86400, timestamp '2020-02-01', 0)) AS counts (grain, start, events)`;
  await sql`INSERT INTO usage_dead_letters (id, workspace_id, reason, event, created_at)
    SELECT gen_random_uuid(), 'acme', 'refused', '', day FROM unnest(ARRAY['2020-01-01', '2020-02-01']::timestamptz[]) AS day`;
  expect(await createRetention(sql as never).deleteSome(new Date('2020-01-15'), 100)).toBe(0);
  const [left] = await sql`SELECT (SELECT count(*) FROM usage_counts)::int AS counts,
    (SELECT count(*) FROM usage_dead_letters)::int AS letters`;
  expect(left).toEqual({ counts: 2, letters: 1 });
});
