// A patch writes what search knows of a document only where it changes: otherwise the rows stay as they are, with all their
// indexes. The entries are right after each patch, and the mirror is told of each that changes one.

import { expect, test } from 'bun:test';
import { SERVICE } from '../../../src/core/author.ts';
import { newRandomId } from '../../../src/core/ids.ts';
import type { DocumentChanges } from '../../../src/documents/document.ts';
import { createSearchEntries } from '../../../src/documents/search/entries.ts';
import { verifyEntries } from '../../../src/documents/search/verify.ts';
import { createDocumentStore } from '../../../src/documents/store.ts';
import { testDatabase } from '../../support/database.ts';
import { shared } from '../../support/shared.ts';
import { newDocument } from '../new-document.ts';

const { sql } = await shared(testDatabase());
const store = createDocumentStore(sql, createSearchEntries());
const viewer = { workspaceId: 'acme', userId: newRandomId(), email: 'a@example.com', admin: true };

type Written = { row: string; texts: string; sequence: number };

const writtenOf = async (id: string): Promise<Written> => {
  const [written] = await sql<Written[]>`
    SELECT s.xmin::text AS row, t.xmin::text AS texts, o.sequence
    FROM document_search s JOIN document_texts t USING (id) JOIN search_outbox o ON o.document_id = s.id WHERE id = ${id}`;
  if (written === undefined) throw new Error('no entry, or the mirror was not told');
  return written;
};

const CASES: [what: string, before: DocumentChanges, patch: DocumentChanges, touches: string[]][] = [
  ['nothing that is new', { summary: 'One', tags: ['a'] }, { summary: 'One', tags: ['a'] }, []],
  ['a status', {}, { status: 'public' }, ['row']],
  ['a summary', { summary: 'One' }, { summary: 'Two' }, ['texts']],
  ['a first summary', {}, { summary: 'One' }, ['row', 'texts']],
  ['a summary that becomes blank', { summary: 'One' }, { summary: ' ' }, ['row', 'texts']],
  ['blanks for no summary', {}, { summary: ' ' }, ['texts']],
  ['a name', {}, { name: 'b.txt' }, ['row', 'texts']],
  ['tags', { tags: ['a'] }, { tags: ['b'] }, ['row', 'texts']],
  ['categories', {}, { categories: ['b'] }, ['row', 'texts']],
  ['slots', { slots: { a: 1 } }, { slots: { a: 2 } }, ['row', 'texts']],
  ['curators', {}, { access: { curators: ['B@example.com'] } }, ['row', 'texts']],
  ['an owner', {}, { ownerId: newRandomId() }, ['row']],
  ['a size', {}, { fileSize: 7 }, ['row']],
  ['a hash', {}, { fileHash: 'abc' }, ['row']],
];

test('each patch writes the parts of the entry that it changes, and no other', async () => {
  await sql`INSERT INTO search_mirror (index_uid, version) VALUES ('mirror', '1') ON CONFLICT DO NOTHING`;
  for (const [what, before, patch, touches] of CASES) {
    const { id } = newDocument(viewer);
    await store.insert(newDocument(viewer, { ...before, id } as never));
    const found = await store.find(viewer, id, 'editable');
    if (found === undefined) throw new Error('no document');
    const old = await writtenOf(id);
    expect(await store.update(viewer, found, patch, SERVICE)).toMatchObject(patch);
    const now = await writtenOf(id);
    const touched = (['row', 'texts'] as const).filter((part) => now[part] !== old[part]);
    expect([what, ...touched]).toEqual([what, ...touches]);
    expect([what, now.sequence > old.sequence]).toEqual([what, touches.length > 0]);
  }
  expect(await verifyEntries(sql, false)).toMatchObject({ compared: CASES.length, missing: 0, different: 0 });
});
