// `q=` by the mirror: what the search server is asked, and what it found while that was changed. With a fake of the server, which finds all
// that it holds; a test changes documents while it does.

import { expect, test } from 'bun:test';
import { createSemaphore } from '../../../src/core/semaphore.ts';
import { createMeilisearchSearch } from '../../../src/documents/search/meilisearch/index.ts';
import { createCommonTerms } from '../../../src/documents/search/postgres/common-terms.ts';
import { createPostgresSearch } from '../../../src/documents/search/postgres/index.ts';
import { createSizes } from '../../../src/documents/search/postgres/sizes.ts';
import type { SearchQuery } from '../../../src/documents/search/query.ts';
import { createIndexes } from '../../../src/infra/meilisearch/indexes.ts';
import { startFakeMeilisearch } from '../../support/fake-meilisearch.ts';
import { mirrorSetting, VIEWER } from './mirror-setting.ts';

const queryFor = (text: string): SearchQuery => ({
  viewer: VIEWER,
  predicates: [],
  archived: 'without',
  text,
  order: [{ attribute: 'created_at', descending: true }],
  offset: 0,
  limit: 50,
});

/** Three reports, mirrored. */
async function open({ documents = { small: 0, medium: 0 } } = {}) {
  const fake = startFakeMeilisearch();
  const setting = await mirrorSetting(fake);
  const { sql, library } = setting;
  const ids = [];
  for (const name of ['first', 'second', 'third'])
    ids.unshift(await library.insert({ name: `${name} report` }));
  const mirror = setting.open();
  await setting.start(mirror);
  await setting.settle(mirror);
  const slow = createSemaphore({ runningMax: 2, waitingMax: 100, refuse: '' });
  const postgres = createPostgresSearch({
    sql,
    bucket: 'atrium',
    slow,
    common: createCommonTerms(sql),
    sizes: createSizes(documents),
  });
  const indexes = createIndexes(fake);
  const asked: string[] = [];
  return {
    setting,
    mirror,
    ids,
    asked,
    /** The ids of the page, undefined where the mirror declines; `meanwhile` is done after the server's answer. */
    async search(text: string, meanwhile = async (): Promise<unknown> => undefined) {
      const ranked: typeof indexes.ranked = async (uid, query, signal) => {
        asked.push(query.q);
        const answer = await indexes.ranked(uid, query, signal);
        await meanwhile();
        return answer as never;
      };
      const engine = createMeilisearchSearch({ indexes: { ...indexes, ranked }, postgres });
      const page = await engine.search(await postgres.prepare(queryFor(text)), new AbortController().signal);
      return page?.documents.map(({ id }) => id).sort();
    },
    async [Symbol.asyncDispose]() {
      await setting[Symbol.asyncDispose]();
      await fake[Symbol.asyncDispose]();
    },
  };
}

test('the server is asked for words alone: what has a meaning of its own there is left out, and so is all behind the last', async () => {
  await using opened = await open();
  const { asked, search } = opened;
  for (const text of [
    '"first report"',
    'report -first',
    'first report? ',
    '  Überfluß  ',
    '分布式 レポート',
    '-',
  ])
    await search(text);
  expect(asked).toEqual([
    'first report',
    'report first',
    'first report',
    'überfluß'.normalize('NFKD'),
    '分布式 レポート'.normalize('NFKD'),
    '',
  ]);
});

test('a page is found whose documents have not changed since, whatever words Postgres would find', async () => {
  await using opened = await open();
  expect(await opened.search('nothing')).toEqual(opened.ids.toSorted());
});

for (const sent of [false, true]) {
  const when = sent ? 'and was sent' : 'and waits to be sent';
  test(`a document that has changed while the server was asked, ${when}, is found if it has the words still`, async () => {
    await using opened = await open();
    const { setting, mirror, ids, search } = opened;
    const [last = ''] = ids;
    if (!sent) await setting.stop(mirror);
    const change = (fields: object) => async () => {
      const found = await setting.sql`SELECT 1 FROM search_outbox`;
      expect(found).toHaveLength(0);
      await setting.library.change(last, fields);
      if (sent) await setting.settle(mirror);
    };
    expect(await search('report', change({ summary: 'another one' }))).toEqual(ids.toSorted());
    if (!sent) await setting.sql`DELETE FROM search_outbox`;
    expect(await search('report', change({ name: 'minutes' }))).toBeUndefined();
  });
}

test('a document that has changed before is looked at by its words', async () => {
  await using opened = await open();
  const { setting, mirror, ids, search } = opened;
  const [last = ''] = ids;
  await setting.stop(mirror);
  await setting.library.change(last, { name: 'minutes' });
  // The fake has no filter, and finds it still: that shows what Postgres is asked.
  expect(await search('report')).toBeUndefined();
  // Words of a document that waits can't be ranked beside those of others.
  expect(await search('minutes')).toBeUndefined();
});

test('of a small workspace the mirror declines, and its size is known from then on', async () => {
  await using opened = await open({ documents: { small: 3, medium: 3 } });
  expect(await opened.search('report')).toBeUndefined();
  expect(opened.asked).toEqual([]);
});
