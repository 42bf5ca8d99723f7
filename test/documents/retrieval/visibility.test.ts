// Whose passages are found: those of the documents that a search with the same filter finds for the same person, all of them.

import { expect, test } from 'bun:test';
import type { Document } from '../../../src/documents/document.ts';
import { parseFilters } from '../../../src/documents/retrieval/filters.ts';
import { testDatabase } from '../../support/database.ts';
import { shared } from '../../support/shared.ts';
import { createRandom, OWNERS, randomDocument, readDocuments, storeDocuments } from '../search/corpus.ts';
import { expectedPage } from '../search/oracle.ts';
import { randomQuery } from '../search/query-texts.ts';
import { asked, retrievalIn } from './setting.ts';

const { sql } = await shared(testDatabase());
const retrieval = retrievalIn(sql);
const DOCUMENTS = 400;
const QUERIES = 150;

async function fill(): Promise<Document[]> {
  const random = createRandom(7);
  const made = Array.from({ length: DOCUMENTS }, (_, index) =>
    randomDocument(random, index % 10 === 0 ? 'other' : 'acme'),
  );
  await storeDocuments(sql, made);
  await sql`
    INSERT INTO document_contents (document_id, workspace_id, state) SELECT id, workspace_id, 'pending' FROM documents`;
  for (const { id } of made) await retrieval.read(id, 'en', [`The pump of ${id}.`]);
  return readDocuments(
    sql,
    made.map(({ id }) => id),
  );
}

test('with any filter and for anyone, passages are those of the documents that the filter finds, and as many as asked for', async () => {
  const documents = await fill();
  const random = createRandom(Number(process.env['SEARCH_SEED'] ?? 11));
  let finding = 0;
  for (let round = 0; round < QUERIES; round++) {
    const { text: _, ...query } = randomQuery(random, documents);
    const expected = expectedPage(documents, { ...query, offset: 0, limit: DOCUMENTS });
    const filter = { predicates: query.predicates, archived: query.archived };
    const limit = random.pick([1, 10, 100]);
    const { passages } = await retrieval.retrieve(query.viewer, asked('pump', { filter, limit }));
    const found = passages.map(({ documentId }) => documentId);
    expect(found.filter((id) => !expected.ids.includes(id))).toEqual([]);
    expect(new Set(found).size).toBe(Math.min(limit, expected.ids.length));
    if (found.length > 0) finding += 1;
  }
  expect(finding).toBeGreaterThan(QUERIES / 10);
});

test('the few passages that a person may see are found behind many that rank higher', async () => {
  const [owner, other] = OWNERS;
  const workspaceId = `w-${crypto.randomUUID()}`;
  const of = (person = owner, admin = false) => ({
    workspaceId,
    userId: person?.id ?? '',
    email: person?.email ?? '',
    admin,
  });
  for (let document = 0; document < 3; document++)
    await retrieval.store(of(owner), 'en', ...Array.from({ length: 900 }, () => 'The gasket.'));
  await retrieval.store(
    of(other),
    'en',
    ...Array.from({ length: 12 }, () => `A gasket ${'and more '.repeat(40)}.`),
  );
  const { passages } = await retrieval.retrieve(of(other), asked('gasket', { limit: 12 }));
  expect(passages.length).toBe(12);
  const filter = parseFilters({ owner_id: `eq:${other?.id}` }, ['body', 'filter']);
  const filtered = await retrieval.retrieve(of(owner, true), asked('gasket', { limit: 12, filter }));
  // An administrator's scores are made of all passages, theirs of what they see.
  expect(filtered.passages.map(({ text }) => text)).toEqual(passages.map(({ text }) => text));
});

test('a question that only passages of others answer finds nothing', async () => {
  const workspaceId = `w-${crypto.randomUUID()}`;
  const [owner, other] = OWNERS.map(({ id, email }) => ({ workspaceId, userId: id, email, admin: false }));
  if (owner === undefined || other === undefined) throw new Error('there are too few owners');
  for (let document = 0; document < 3; document++)
    await retrieval.store(owner, 'en', ...Array.from({ length: 900 }, () => 'The gasket.'));
  await retrieval.store(other, 'en', 'The valve.');
  const { passages } = await retrieval.retrieve(other, asked('gasket'));
  expect(passages).toEqual([]);
});
