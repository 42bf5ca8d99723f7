// However slow one workspace's searches are, those of others have connections and turns.

import { expect, test } from 'bun:test';
import { createSemaphore } from '../../../src/core/semaphore.ts';
import { connectForLastingPlans, connectForSearch } from '../../../src/database.ts';
import { parseFilter } from '../../../src/documents/filter/grammar.ts';
import { toPredicate } from '../../../src/documents/filter/predicate.ts';
import { createCommonTerms } from '../../../src/documents/search/postgres/common-terms.ts';
import { createPostgresSearch } from '../../../src/documents/search/postgres/index.ts';
import { isSlow } from '../../../src/documents/search/postgres/prepared.ts';
import { createSizes } from '../../../src/documents/search/postgres/sizes.ts';
import type { SearchQuery } from '../../../src/documents/search/query.ts';
import { createTurns } from '../../../src/documents/search/slow-searches.ts';
import { eventually } from '../../support/child.ts';
import { silentLog, testDatabase } from '../../support/database.ts';
import { shared } from '../../support/shared.ts';
import { createRandom, randomDocument, storeDocuments } from './corpus.ts';

const database = await shared(testDatabase());
const WORKSPACE = 'acme';

const queryOf = (...filters: string[]): SearchQuery => ({
  viewer: { workspaceId: WORKSPACE, userId: crypto.randomUUID(), email: '', admin: true },
  predicates: filters.map((text) => {
    const parsed = parseFilter('summary', text, []);
    if ('mistake' in parsed) throw new Error(parsed.mistake.msg);
    return toPredicate(parsed.value);
  }),
  archived: 'without',
  order: [{ attribute: 'created_at', descending: true }],
  offset: 0,
  limit: 10,
});

test('a search of a small workspace that takes long leaves the lasting plans to others, and is answered', async () => {
  const random = createRandom(1);
  await storeDocuments(
    database.sql,
    Array.from({ length: 20 }, () => randomDocument(random, WORKSPACE)),
  );
  const sql = connectForSearch(database.url, silentLog);
  const smallSql = connectForLastingPlans(database.url, silentLog);
  try {
    const sizes = createSizes();
    const slow = createSemaphore({ runningMax: 1, waitingMax: 10, refuse: '' });
    const common = createCommonTerms(database.sql);
    const engine = createPostgresSearch({ sql, smallSql, bucket: 'atrium', slow, common, sizes });
    const find = async () =>
      (await engine.search(await engine.prepare(queryOf('not_contains:nothing')))).total;
    const total = await find();
    const place = (await engine.prepare(queryOf())).place;
    expect(sizes.of(place)).toBe('small');
    const locked = Promise.withResolvers<void>();
    const freed = Promise.withResolvers<void>();
    const lock = database.sql.begin(async (tx) => {
      await tx`LOCK TABLE document_texts IN ACCESS EXCLUSIVE MODE`;
      locked.resolve();
      await freed.promise;
    });
    await locked.promise;
    const found = Promise.all(Array.from({ length: 12 }, find));
    const busy = async (): Promise<number> => {
      const [row] = await database.sql<{ busy: number }[]>`
        SELECT count(*)::int AS busy FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'atrium-lasting' AND state = 'active'`;
      return row?.busy ?? 0;
    };
    await eventually('the lasting plans to be taken', async () => (await busy()) > 0);
    await eventually('the lasting plans to be free', async () => (await busy()) === 0);
    expect([sizes.of(place), slow.metrics().running]).toEqual(['large', 1]);
    freed.resolve();
    await lock;
    expect(await found).toEqual(Array.from({ length: 12 }, () => total));
    // It stays so, whatever is counted.
    sizes.learn(place, 1);
    expect(sizes.of(place)).toBe('large');
  } finally {
    await Promise.all([sql.end({ timeout: 1 }), smallSql.end({ timeout: 1 })]);
  }
});

test('what is asked of every document, or much of each, waits for its turn', async () => {
  const common = createCommonTerms(database.sql);
  const slow = createSemaphore({ runningMax: 1, waitingMax: 1, refuse: '' });
  const { prepare } = createPostgresSearch({ sql: database.sql, bucket: 'atrium', slow, common });
  const slowOf = async (...filters: string[]) => isSlow(await prepare(queryOf(...filters)));
  expect(await slowOf('two words')).toBe(false);
  expect(await slowOf('not_contains:two words')).toBe(true);
  expect(await slowOf(...Array.from({ length: 9 }, (_, number) => `two words ${number}`))).toBe(true);
});

test('a workspace takes its turn behind those that wait, however much it sends', async () => {
  const all = createSemaphore({ runningMax: 1, waitingMax: 100, refuse: '' });
  const inTurn = createTurns(all, { runningMax: 1 });
  const order: string[] = [];
  const searchOf = (workspace: string) => inTurn(workspace, async () => order.push(workspace));
  await all.acquire();
  const searches = [...Array.from({ length: 5 }, () => searchOf('loud')), searchOf('quiet')];
  all.release();
  await Promise.all(searches);
  expect(order.slice(0, 2)).toEqual(['loud', 'quiet']);
  expect(order).toHaveLength(6);
});
