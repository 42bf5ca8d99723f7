// The page of triggers is complete: whoever reads a statement finds there what else it causes.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { testDatabase } from '../support/database.ts';

const page = readFileSync(join(import.meta.dir, '../../docs/decisions/032-triggers.md'), 'utf8');

test('every trigger of the schema is on the page, and every trigger of the page is in the schema', async () => {
  await using database = await testDatabase();
  const rows = await database.sql<{ name: string }[]>`
    SELECT DISTINCT tgname AS name FROM pg_trigger WHERE NOT tgisinternal AND tgparentid = 0`;
  const cells = [...page.matchAll(/^\| (`[^|]+) \|/gm)].map(([, cell = '']) => cell);
  const named = cells.flatMap((cell) => [...cell.matchAll(/`([a-z_]+)`/g)].map(([, name = '']) => name));
  expect(named.toSorted()).toEqual(rows.map(({ name }) => name).toSorted());
});
