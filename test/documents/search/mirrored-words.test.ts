// `q=` by the mirror: what the search server is asked, and what it found while that was changed. With a fake of the server, which finds all
// that it holds; a test changes documents while it does.

import { expect, test } from 'bun:test';
import { createMeilisearchSearch } from '../../../src/documents/search/meilisearch/index.ts';
import type { SearchQuery } from '../../../src/documents/search/query.ts';
import { createIndexes } from '../../../src/infra/meilisearch/indexes.ts';
import { silentLog } from '../../support/database.ts';
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
async function open() {
  const fake = startFakeMeilisearch();
  const setting = await mirrorSetting(fake);
  const { sql, library } = setting;
  const ids = [];
  for (const name of ['first', 'second', 'third'])
    ids.unshift(await library.insert({ name: `${name} report` }));
  const mirror = setting.open();
  await setting.start(mirror);
  await setting.settle(mirror);
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
      const engine = createMeilisearchSearch({
        sql,
        indexes: { ...indexes, ranked },
        bucket: 'atrium',
        log: silentLog,
      });
      const page = await engine.search(queryFor(text));
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
  test(`where a document on the page has changed while the server was asked, ${when}, Postgres answers`, async () => {
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
    expect(await search('report', change({ name: 'minutes' }))).toBeUndefined();
  });
}

test('while a change waits to be sent, Meilisearch answers other workspaces, and Postgres this one', async () => {
  await using opened = await open();
  const { setting, mirror, ids, asked, search } = opened;
  await setting.stop(mirror);
  await setting.library.insert({ workspaceId: 'other' });
  expect(await search('report')).toEqual(ids.toSorted());
  expect(asked).toEqual(['report']);
  await setting.library.insert({ name: 'another report' });
  expect(await search('report')).toBeUndefined();
  expect(asked).toEqual(['report']);
});
