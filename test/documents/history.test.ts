// The rows of the history: they go with their document and with time, and a page of them is read along an index.

import { expect, test } from 'bun:test';
import { SERVICE } from '../../src/core/author.ts';
import { newId } from '../../src/core/ids.ts';
import { createHistoryStore } from '../../src/documents/history/store.ts';
import { HISTORY_SWEEP_ROWS } from '../../src/documents/limits.ts';
import type { Viewer } from '../../src/documents/policy.ts';
import { createSearchEntries } from '../../src/documents/search/entries.ts';
import { createDocumentStore } from '../../src/documents/store.ts';
import { testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';

const database = await shared(testDatabase());
const { sql } = database;
const documents = createDocumentStore(sql, createSearchEntries());
const history = createHistoryStore(sql);
const viewer: Viewer = { workspaceId: 'acme', userId: newId(), email: 'a@b', admin: false };

async function insert(): Promise<string> {
  const id = newId();
  await sql`
    INSERT INTO documents (id, workspace_id, upload_id, owner_id, name, object_key, status, created_at)
    VALUES (${id}, ${viewer.workspaceId}, ${newId()}, ${viewer.userId}, 'a.txt', ${`acme/${id}`}, 'private',
      now() - interval '10 days')`;
  return id;
}

/** Rows of a document, each a second older than the one before. */
const fill = (id: string, count: number, youngestSeconds: number) => sql`
  INSERT INTO document_history (document_id, created_at, action, actor, via)
  SELECT ${id}, now() - (${youngestSeconds}::int + i) * interval '1 second', 'update', 'a@b', 'key'
  FROM generate_series(1, ${count}::int) AS i`;
const rowsOf = async (id: string): Promise<number> =>
  (await sql`SELECT FROM document_history WHERE document_id = ${id}`).length;

test('rows go with their document, and those of others stay', async () => {
  const [gone, kept] = [await insert(), await insert()];
  await fill(gone, 30, 10);
  await fill(kept, 3, 10);
  expect(await documents.bin(viewer, gone, SERVICE)).toBe(true);
  await documents.purge(viewer, gone, SERVICE);
  expect([await rowsOf(gone), await rowsOf(kept)]).toEqual([0, 3]);
});

test('old rows are deleted in steps, and the upload is shown as long as there is the document', async () => {
  const id = await insert();
  await fill(id, 25, 3 * 86_400);
  await fill(id, 2, 0);
  const before = new Date(Date.now() - 2 * 86_400_000);
  expect(await history.deleteSome(before, 20)).toBe(20);
  expect(await history.deleteSome(before, HISTORY_SWEEP_ROWS)).toBe(5);
  expect(await history.deleteSome(before, HISTORY_SWEEP_ROWS)).toBe(0);
  const rows = await history.list(viewer, id, { limit: 10, after: undefined });
  expect(rows.map(({ action }) => action)).toEqual(['update', 'update', 'upload']);
});

test('a page of a long history is read along an index, without a sort of it', async () => {
  const id = await insert();
  await fill(id, 50_000, 0);
  await sql`ANALYZE document_history`;
  const rows = await sql<{ 'QUERY PLAN': string }[]>`
    EXPLAIN SELECT id FROM document_history WHERE document_id = ${id}
    ORDER BY created_at DESC, id DESC LIMIT 51`;
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toContain('Index');
  expect(plan).not.toMatch(/Sort|Seq Scan/);
});
