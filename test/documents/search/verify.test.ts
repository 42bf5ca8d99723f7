// What `search verify` finds in the search tables, and repairs; what `search reindex` writes anew.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { verifyEntries } from '../../../src/documents/search/verify.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { createLibrary } from './mirror-setting.ts';

const ADMIN = join(import.meta.dir, '../../../src/admin.ts');
const SOUND = { missing: 0, different: 0, extra: 0 };
let database: TestDatabase;
let ids: string[];

beforeAll(async () => {
  database = await testDatabase();
  const library = createLibrary(database.sql);
  ids = [];
  for (let count = 0; count < 20; count++) ids.push(await library.insert({ access: { a: 'b' } }));
  for (let count = 0; count < 60; count++) await library.changeAtRandom(ids);
  ids = (await database.sql<{ id: string }[]>`SELECT id FROM documents`).map(({ id }) => id);
});
afterAll(() => database.drop());

const verify = (repair: boolean) => verifyEntries(database.sql, repair);

async function admin(words: string) {
  const child = Bun.spawn([process.execPath, ADMIN, ...words.split(' ')], {
    env: { PATH: process.env['PATH'], DATABASE_URL: database.url },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, out, err };
}

test('changes of every kind leave nothing to repair', async () => {
  expect(await verify(false)).toEqual({ ...SOUND, compared: ids.length } as never);
});

const DAMAGES: [string, (id: string) => Promise<unknown>, object][] = [
  ['an entry is gone', (id) => database.sql`DELETE FROM document_search WHERE id = ${id}`, { missing: 1 }],
  ['a text is gone', (id) => database.sql`DELETE FROM document_texts WHERE id = ${id}`, { missing: 1 }],
  [
    'a name differs',
    (id) => database.sql`UPDATE document_search SET name = 'x' WHERE id = ${id}`,
    { different: 1 },
  ],
  [
    'words differ',
    (id) => database.sql`UPDATE document_texts SET words = '' WHERE id = ${id}`,
    { different: 1 },
  ],
  [
    'an entry is of nobody',
    () => database.sql`
      INSERT INTO document_search (id, workspace_id, class, owner_id, created_at, name, terms)
      SELECT gen_random_uuid(), workspace_id, class, owner_id, created_at, name, terms FROM document_search LIMIT 1`,
    { extra: 1 },
  ],
];

test.each(DAMAGES)('%s: it is found, and repaired', async (_name, damage, found) => {
  await damage(ids[0] ?? '');
  expect(await verify(false)).toMatchObject({ ...SOUND, ...found } as never);
  expect(await verify(true)).toMatchObject(found as never);
  expect(await verify(false)).toEqual({ ...SOUND, compared: ids.length } as never);
});

test('an operator verifies, repairs and makes anew on the command line', async () => {
  await database.sql`DELETE FROM document_texts WHERE id = ${ids[1] ?? ''}`;
  expect(await admin('search verify')).toEqual({
    code: 1,
    out: `postgres  compared=${ids.length},missing=1,different=0,extra=0\n`,
    err: 'admin: search differs from the documents; run it again with --repair\n',
  });
  expect(await admin('search reindex')).toEqual({
    code: 0,
    out: `entries_written  ${ids.length}\n`,
    err: '',
  });
  expect(await admin('search verify')).toMatchObject({ code: 0, err: '' });
});
