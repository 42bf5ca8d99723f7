// Processes hear of changes of what they cache of a document, and of no others: a transaction that notifies commits alone.

import { afterAll, expect, test } from 'bun:test';
import { createSearchEntries } from '../../src/documents/search/entries.ts';
import { createDocumentStore } from '../../src/documents/store.ts';
import { createInvalidation } from '../../src/infra/postgres/invalidation.ts';
import { eventually } from '../support/child.ts';
import { connectTo, silentLog, testDatabase } from '../support/database.ts';

const database = await testDatabase();
const { sql } = database;
const listening = connectTo(database.url);
const invalidation = createInvalidation({ sql: listening, log: silentLog });
const heard: string[] = [];
invalidation.subscribe(
  'documents',
  (id) => heard.push(id),
  () => {},
);
await invalidation.start();
afterAll(async () => {
  await invalidation.close();
  await listening.end({ timeout: 1 });
  await database.drop();
});

const store = createDocumentStore(sql, createSearchEntries(), { reads: false });

async function newDocument(): Promise<string> {
  const id = crypto.randomUUID();
  await sql`
    INSERT INTO documents (id, workspace_id, upload_id, owner_id, name, object_key, status)
    VALUES (${id}, 'acme', ${crypto.randomUUID()}, ${crypto.randomUUID()}, 'a', 'key', 'public')`;
  return id;
}

/** Whether others are told when the statement has run: told in the order of commits, the deletion of another document comes after it. */
async function isTold(id: string, statement: string): Promise<boolean> {
  const fence = await newDocument();
  heard.length = 0;
  await sql.unsafe(`${statement} WHERE id = '${id}'`);
  await sql`DELETE FROM documents WHERE id = ${fence}`;
  await eventually('the later one', () => heard.includes(fence));
  return heard.includes(id);
}

const otherValues: Record<string, string> = {
  id: 'gen_random_uuid()',
  owner_id: 'gen_random_uuid()',
  status: "'private'",
  curators: "'{a@example.com}'",
};

test('they hear of a change of each value that is cached', async () => {
  const cached = Object.keys((await store.locate(await newDocument())) ?? {});
  expect(cached).toHaveLength(9);
  for (const key of cached) {
    const column = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const change = `UPDATE documents SET ${column} = ${otherValues[column] ?? "'other'"}`;
    expect([column, await isTold(await newDocument(), change)]).toEqual([column, true]);
  }
  expect(await isTold(await newDocument(), 'DELETE FROM documents')).toBe(true);
});

test('they do not hear of a change of other metadata', async () => {
  const changes =
    "summary = 's', tags = '{a}', categories = '{c}', slots = '{}', access = '{}', archived_at = now()";
  expect(await isTold(await newDocument(), `UPDATE documents SET ${changes}`)).toBe(false);
});
