// A search is prepared once, whichever engine answers it: vocabulary is asked for once, and spelling where Postgres ranks, with a fake of
// the search server, which answers with all that it holds.

import { expect, test } from 'bun:test';
import { createSemaphore } from '../../../src/core/semaphore.ts';
import { parseFilter } from '../../../src/documents/filter/grammar.ts';
import { toPredicate } from '../../../src/documents/filter/predicate.ts';
import { createMeilisearchSearch } from '../../../src/documents/search/meilisearch/index.ts';
import { createSearchPlanner } from '../../../src/documents/search/planner.ts';
import { createCommonTerms } from '../../../src/documents/search/postgres/common-terms.ts';
import { createPostgresSearch } from '../../../src/documents/search/postgres/index.ts';
import { createSizes } from '../../../src/documents/search/postgres/sizes.ts';
import type { SearchQuery } from '../../../src/documents/search/query.ts';
import { createIndexes } from '../../../src/infra/meilisearch/indexes.ts';
import type { Sql } from '../../../src/infra/postgres/client.ts';
import { silentLog } from '../../support/database.ts';
import { type FakeMeilisearch, startFakeMeilisearch } from '../../support/fake-meilisearch.ts';
import { countStatements } from '../../support/statements.ts';
import { mirrorSetting, VIEWER } from './mirror-setting.ts';

const MISTYPED: SearchQuery = {
  viewer: VIEWER,
  predicates: [],
  archived: 'without',
  text: 'quartely',
  order: [{ attribute: 'created_at', descending: true }],
  offset: 0,
  limit: 50,
};

function enginesOn(sql: Sql, fake: FakeMeilisearch, sizes = createSizes()) {
  const slow = createSemaphore({ runningMax: 2, waitingMax: 100, refuse: '' });
  const common = createCommonTerms(sql);
  const postgres = createPostgresSearch({ sql, bucket: 'atrium', slow, common, sizes });
  return { postgres, meilisearch: createMeilisearchSearch({ indexes: createIndexes(fake), postgres }) };
}

test('a search that the mirror answers costs two statements: what the mirror lacks, the records', async () => {
  await using fake = startFakeMeilisearch();
  await using setting = await mirrorSetting(fake);
  const id = await setting.library.insert({ name: 'quarterly report' });
  const mirror = setting.open();
  await setting.start(mirror);
  await setting.settle(mirror);
  const { counted, statements } = countStatements(setting.sql);
  const { postgres, meilisearch } = enginesOn(counted, fake, createSizes({ small: 0, medium: 0 }));
  const prepared = await postgres.prepare(MISTYPED);
  const page = await meilisearch.search(prepared, new AbortController().signal);
  expect(page).toMatchObject({ documents: [{ id }], total: 1 });
  expect(statements.size).toBe(2);
});

test('one that the mirror declines costs one statement more than without a mirror', async () => {
  await using fake = startFakeMeilisearch();
  await using setting = await mirrorSetting(fake);
  const id = await setting.library.insert({ name: 'quarterly report' });
  const statementsOf = async (mirrored: boolean): Promise<number> => {
    const { counted, statements } = countStatements(setting.sql);
    const { postgres, meilisearch } = enginesOn(counted, fake);
    const planner = createSearchPlanner({
      postgres,
      meilisearch: mirrored ? meilisearch : undefined,
      log: silentLog,
    });
    const page = await planner.search(MISTYPED);
    expect(page).toMatchObject({ documents: [{ id }], total: 1, engine: 'postgres' });
    return statements.size;
  };
  const alone = await statementsOf(false);
  expect(alone).toBe(2);
  expect(await statementsOf(true)).toBe(alone + 1);
});

test('a search of a small workspace costs one statement once its size is known, and finds what was written since', async () => {
  await using fake = startFakeMeilisearch();
  await using setting = await mirrorSetting(fake);
  const query: SearchQuery = { ...MISTYPED, predicates: [] };
  delete query.text;
  const id = await setting.library.insert({ name: 'first' });
  const { counted, statements } = countStatements(setting.sql);
  const { postgres } = enginesOn(counted, fake);
  const search = async () => {
    statements.clear();
    const { documents, total } = await postgres.search(await postgres.prepare(query));
    return { ids: documents.map((document) => document.id), total, statements: statements.size };
  };
  expect(await search()).toEqual({ ids: [id], total: 1, statements: 2 });
  const later = await setting.library.insert({ name: 'second' });
  expect(await search()).toEqual({ ids: [later, id], total: 2, statements: 1 });
  const beyond = { ...query, offset: 50 };
  expect(await postgres.search(await postgres.prepare(beyond))).toEqual({ documents: [], total: 2 });
});

test.each([
  ['name', 'contains:rst'],
  ['summary', 'contains:rst'],
  ['tags', 'any:first'],
] as const)('so does one for a part of its documents: %s', async (attribute, text) => {
  await using fake = startFakeMeilisearch();
  await using setting = await mirrorSetting(fake);
  const parsed = parseFilter(attribute, text, []);
  if ('mistake' in parsed) throw new Error(parsed.mistake.msg);
  const { text: _, ...everything } = MISTYPED;
  const query = { ...everything, predicates: [toPredicate(parsed.value)] };
  const id = await setting.library.insert({ name: 'first', summary: 'the first', tags: ['first'] });
  for (const bounds of [
    { small: 1, medium: 1 },
    { small: 0, medium: 1 },
  ]) {
    const { counted, statements } = countStatements(setting.sql);
    const { postgres } = enginesOn(counted, fake, createSizes(bounds));
    const search = async () => {
      statements.clear();
      const { documents, total } = await postgres.search(await postgres.prepare(query));
      expect({ ids: documents.map((document) => document.id), total }).toEqual({ ids: [id], total: 1 });
      return statements.size;
    };
    expect(await search()).toBeGreaterThan(1);
    // A medium workspace is asked for the words that hold a piece of text.
    expect(await search()).toBe(bounds.small === 0 && attribute !== 'tags' ? 2 : 1);
  }
});
