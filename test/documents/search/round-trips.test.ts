// How many statements a search costs, with a fake of the search server, which answers with all that it holds.

import { expect, test } from 'bun:test';
import { createSemaphore } from '../../../src/core/semaphore.ts';
import type { Attribute } from '../../../src/documents/filter/attributes.ts';
import { parseFilter } from '../../../src/documents/filter/grammar.ts';
import { toPredicate } from '../../../src/documents/filter/predicate.ts';
import { createMeilisearchSearch } from '../../../src/documents/search/meilisearch/index.ts';
import { createPostgresSearch } from '../../../src/documents/search/postgres/index.ts';
import type { SearchQuery } from '../../../src/documents/search/query.ts';
import { createIndexes } from '../../../src/infra/meilisearch/indexes.ts';
import type { Sql } from '../../../src/infra/postgres/client.ts';
import { silentLog, testDatabase } from '../../support/database.ts';
import { type FakeMeilisearch, startFakeMeilisearch } from '../../support/fake-meilisearch.ts';
import { countStatements } from '../../support/statements.ts';
import { createLibrary, mirrorSetting, VIEWER } from './mirror-setting.ts';

const MISTYPED: SearchQuery = {
  viewer: VIEWER,
  predicates: [],
  archived: 'without',
  text: 'quartely',
  order: [{ attribute: 'created_at', descending: true }],
  offset: 0,
  limit: 50,
};

function enginesOn(sql: Sql, fake: FakeMeilisearch) {
  const slow = createSemaphore({ runningMax: 2, waitingMax: 100, refuse: '' });
  const indexes = createIndexes(fake);
  return {
    postgres: createPostgresSearch({ sql, bucket: 'atrium', slow }),
    meilisearch: createMeilisearchSearch({ sql, indexes, bucket: 'atrium', log: silentLog }),
  };
}

test('a search that the mirror answers costs two statements: whether it has every change, the records', async () => {
  await using fake = startFakeMeilisearch();
  await using setting = await mirrorSetting(fake);
  const id = await setting.library.insert({ name: 'quarterly report' });
  const mirror = setting.open();
  await setting.start(mirror);
  await setting.settle(mirror);
  const { counted, statements } = countStatements(setting.sql);
  const { meilisearch } = enginesOn(counted, fake);
  expect(await meilisearch.search(MISTYPED)).toMatchObject({ documents: [{ id }], total: 1 });
  expect(statements.size).toBe(2);
  await setting.stop(mirror);
  await setting.library.change(id, { summary: 'changed' });
  statements.clear();
  expect(await meilisearch.search(MISTYPED)).toBeUndefined();
  expect(statements.size).toBe(1);
});

test.each([
  ['everything', undefined, undefined, 1],
  ['tags', 'any:first', undefined, 1],
  ['name', 'contains:rst', undefined, 1],
  // The words that a piece of text, or a mistyped word, may be of.
  ['summary', 'contains:rst', undefined, 2],
  ['words', undefined, 'frist', 2],
] as const)('in Postgres: %s', async (attribute, filter, text, count) => {
  await using database = await testDatabase();
  const { counted, statements } = countStatements(database.sql);
  const slow = createSemaphore({ runningMax: 2, waitingMax: 100, refuse: '' });
  const postgres = createPostgresSearch({ sql: counted, bucket: 'atrium', slow });
  const parsed = filter && parseFilter(attribute as Attribute, filter, []);
  if (parsed !== undefined && 'mistake' in parsed) throw new Error(parsed.mistake.msg);
  const { text: _, ...everything } = MISTYPED;
  const query = {
    ...everything,
    ...(text === undefined ? {} : { text }),
    predicates: parsed === undefined ? [] : [toPredicate(parsed.value)],
  };
  const document = { name: 'first', summary: 'the first', tags: ['first'] };
  const id = await createLibrary(database.sql).insert(document);
  const { documents, total } = await postgres.search(query);
  expect({ ids: documents.map((each) => each.id), total }).toEqual({ ids: [id], total: 1 });
  expect(statements.size).toBe(count);
  expect(await postgres.search({ ...query, offset: 50 })).toEqual({ documents: [], total: 1 });
});
