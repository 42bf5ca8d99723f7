// Which engine answers when Meilisearch declines, fails, is slow, or comes back: it is asked only where it can answer exactly, and
// whatever it does, Postgres can answer. With a fake of the server, because a real one can't be told when to fail.

import { expect, test } from 'bun:test';
import { INDEX_VERSION } from '../../../src/documents/search/meilisearch/document.ts';
import { createMeilisearchSearch } from '../../../src/documents/search/meilisearch/index.ts';
import type { SearchQuery } from '../../../src/documents/search/query.ts';
import { silentLog, testDatabase } from '../../support/database.ts';
import { shared } from '../../support/shared.ts';
import { VIEWER } from './mirror-setting.ts';

const { sql } = await shared(testDatabase());
await sql`INSERT INTO search_mirror (index_uid, version, ready) VALUES ('documents', ${INDEX_VERSION}, true)`;

const QUERY: SearchQuery = {
  viewer: VIEWER,
  predicates: [],
  archived: 'without',
  order: [{ attribute: 'created_at', descending: true }],
  offset: 0,
  limit: 10,
};

function searchBy(answer: (signal: AbortSignal) => Promise<void>) {
  const clock = { ms: 0 };
  const asked = { times: 0 };
  const page = async (_: unknown, __: unknown, signal: AbortSignal) => {
    asked.times += 1;
    await answer(signal);
    return { results: [], hits: [], total: 0 };
  };
  const engine = createMeilisearchSearch({
    sql,
    indexes: { page, ranked: page } as never,
    bucket: 'atrium',
    log: silentLog,
    timeoutMs: 100,
    now: () => clock.ms,
  });
  const answers = async (query: Partial<SearchQuery> = {}) =>
    (await engine.search({ ...QUERY, ...query })) !== undefined;
  return { clock, asked, answers, engine };
}

const away = async () => {
  throw new Error('away');
};

test('it is asked for terms, classes, times and sizes, and for words', async () => {
  const { answers } = searchBy(async () => undefined);
  expect(await answers()).toBe(true);
  expect(await answers({ text: 'report' })).toBe(true);
  expect(await answers({ predicates: [{ attribute: 'tags', negated: true, test: { kind: 'empty' } }] })).toBe(
    true,
  );
});

test.each<[string, Partial<SearchQuery>]>([
  [
    'a piece of text',
    { predicates: [{ attribute: 'name', negated: false, test: { kind: 'contains', value: 'a' } }] },
  ],
  ['an order of text', { order: [{ attribute: 'name', descending: false }] }],
  ['a deep page', { offset: 1001 }],
  ['words from the middle of a page on', { text: 'report', offset: 5 }],
])('it is not asked for %s', async (_, query) => {
  const { answers, asked } = searchBy(async () => undefined);
  expect(await answers(query)).toBe(false);
  expect(asked.times).toBe(0);
});

test('a server that hangs is waited for no longer than the time-out, and is told that nobody waits', async () => {
  let told: AbortSignal | undefined;
  const { answers } = searchBy((signal) => {
    told = signal;
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  });
  expect(await answers()).toBe(false);
  expect(told?.aborted).toBe(true);
});

test('one that keeps failing is left alone for a while, tried by one, and used again when well', async () => {
  let answer = away;
  const { asked, clock, answers, engine } = searchBy(() => answer());
  for (let count = 0; count < 20; count++) expect(await answers()).toBe(false);
  expect(asked.times).toBe(5);
  expect(engine.isUsable()).toBe(false);
  clock.ms += 1000;
  // Without a search nothing can show that it is well, and nothing says that it is not.
  expect(engine.isUsable()).toBe(true);
  expect(await answers()).toBe(false);
  expect(asked.times).toBe(6);
  clock.ms += 1999;
  expect(await answers()).toBe(false);
  expect(asked.times).toBe(6);
  clock.ms += 1;
  // A search that it cannot answer exactly decides nothing.
  expect(await answers({ offset: 1001 })).toBe(false);
  answer = async () => undefined as never;
  expect(await answers()).toBe(true);
  expect(engine.isUsable()).toBe(true);
});
