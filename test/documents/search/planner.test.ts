// Which engine answers when the search server declines, fails, is slow, or comes back. The engines here are fakes:
// real ones can't be told when to fail.

import { expect, test } from 'bun:test';
import { createSearchPlanner } from '../../../src/documents/search/planner.ts';
import type { Prepared } from '../../../src/documents/search/postgres/prepared.ts';
import type { Size } from '../../../src/documents/search/postgres/sizes.ts';
import type { SearchPage, SearchQuery } from '../../../src/documents/search/query.ts';
import { silentLog } from '../../support/database.ts';

const PAGE: SearchPage = { documents: [], total: 0 };
const QUERY: SearchQuery = {
  viewer: { workspaceId: 'acme', userId: '', email: '', admin: true },
  predicates: [],
  archived: 'without',
  order: [],
  offset: 0,
  limit: 1,
};

function fakePlanner(
  mirror: (signal: AbortSignal) => Promise<SearchPage | undefined>,
  {
    size,
    takes = { mirror: 0, postgres: 0 },
  }: { size?: Size; takes?: Record<'mirror' | 'postgres', number> } = {},
) {
  const asked = { mirror: 0, postgres: 0 };
  const clock = { ms: 0 };
  const planner = createSearchPlanner({
    postgres: {
      prepare: async (query) => ({ query, size, place: 'acme' }) as Prepared,
      async search() {
        asked.postgres += 1;
        clock.ms += takes.postgres;
        return PAGE;
      },
    },
    meilisearch: {
      search(_query, signal) {
        asked.mirror += 1;
        clock.ms += takes.mirror;
        return mirror(signal);
      },
    },
    log: silentLog,
    now: () => clock.ms,
  });
  return { asked, clock, search: async () => (await planner.search(QUERY)).engine, planner };
}

test('what the mirror answers is the answer, and Postgres is left alone', async () => {
  const { asked, search } = fakePlanner(async () => PAGE);
  expect(await search()).toBe('meilisearch');
  expect(asked).toEqual({ mirror: 1, postgres: 0 });
});

test('the engine that costs less is asked, and the other one seldom; a mirror that declines costs both', async () => {
  const searches = async (
    takes: Record<'mirror' | 'postgres', number>,
    mirror: () => Promise<SearchPage | undefined> = async () => PAGE,
  ) => {
    const { asked, search } = fakePlanner(mirror, { takes });
    for (let count = 0; count < 100; count++) await search();
    return asked;
  };
  expect(await searches({ mirror: 1, postgres: 3 })).toEqual({ mirror: 99, postgres: 1 });
  expect(await searches({ mirror: 3, postgres: 1 })).toEqual({ mirror: 1, postgres: 99 });
  expect(await searches({ mirror: 1, postgres: 3 }, async () => undefined)).toEqual({
    mirror: 2,
    postgres: 100,
  });
});

test('of a small workspace, Postgres is asked alone', async () => {
  const { asked, search } = fakePlanner(async () => PAGE, { size: 'small' });
  expect(await search()).toBe('postgres');
  expect(asked).toEqual({ mirror: 0, postgres: 1 });
});

test.each([
  [undefined, 'meilisearch'],
  ['large', 'meilisearch'],
  ['medium', 'meilisearch'],
  ['small', 'postgres'],
] as const)(
  'for words, size %p, one engine is always asked, whatever it costs: pages of one ranking come from it',
  async (size, engine) => {
    for (const takes of [
      { mirror: 5, postgres: 1 },
      { mirror: 1, postgres: 5 },
    ]) {
      const options = { takes, ...(size === undefined ? {} : { size }) };
      const { asked, planner } = fakePlanner(async () => PAGE, options);
      for (let page = 0; page < 20; page++) {
        const query = { ...QUERY, text: 'report', offset: page * 50 };
        expect((await planner.search(query)).engine).toBe(engine);
      }
      expect(asked).toEqual({ mirror: 0, postgres: 0, [engine === 'postgres' ? engine : 'mirror']: 20 });
    }
  },
);

test('what it declines or fails at, Postgres answers', async () => {
  expect(await fakePlanner(async () => undefined).search()).toBe('postgres');
  expect(await fakePlanner(() => Promise.reject(new Error('away'))).search()).toBe('postgres');
});

test('a server that hangs holds nobody up, and is told that nobody waits', async () => {
  let told: AbortSignal | undefined;
  const { search } = fakePlanner((signal) => {
    told = signal;
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  });
  expect(await search()).toBe('postgres');
  expect(told?.aborted).toBe(true);
});

test('one that keeps failing is left alone for a while, tried by one, and used again when well', async () => {
  let well = false;
  const { asked, clock, search, planner } = fakePlanner(async () => {
    if (well) return PAGE;
    throw new Error('away');
  });
  for (let count = 0; count < 20; count++) expect(await search()).toBe('postgres');
  expect(asked.mirror).toBe(5);
  expect(planner.usesMirror()).toBe(false);
  clock.ms += 1000;
  // Without a search nothing can show that it is well, and nothing says that it is not.
  expect(planner.usesMirror()).toBe(true);
  await Promise.all([search(), search(), search()]);
  expect(asked.mirror).toBe(6);
  expect(planner.usesMirror()).toBe(false);
  clock.ms += 1999;
  expect(await search()).toBe('postgres');
  expect(asked.mirror).toBe(6);
  clock.ms += 1;
  well = true;
  expect(await search()).toBe('meilisearch');
  expect(planner.usesMirror()).toBe(true);
  expect(await search()).toBe('meilisearch');
});

test('to decline while it is tried again decides nothing', async () => {
  let answer: 'fail' | 'decline' | 'page' = 'fail';
  const { clock, search } = fakePlanner(async () => {
    if (answer === 'fail') throw new Error('away');
    return answer === 'page' ? PAGE : undefined;
  });
  for (let count = 0; count < 5; count++) await search();
  clock.ms += 1000;
  answer = 'decline';
  expect(await search()).toBe('postgres');
  answer = 'page';
  expect(await search()).toBe('meilisearch');
});
