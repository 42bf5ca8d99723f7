// However slow one workspace's searches are, those of others have connections and turns.

import { expect, test } from 'bun:test';
import { createSemaphore } from '../../../src/core/semaphore.ts';
import { parseFilter } from '../../../src/documents/filter/grammar.ts';
import { toPredicate } from '../../../src/documents/filter/predicate.ts';
import { createPostgresSearch } from '../../../src/documents/search/postgres/index.ts';
import type { SearchQuery } from '../../../src/documents/search/query.ts';
import { createTurns } from '../../../src/documents/search/slow-searches.ts';
import { testDatabase } from '../../support/database.ts';
import { shared } from '../../support/shared.ts';

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

test('what is asked of every document, or much of each, waits for its turn', async () => {
  const slow = createSemaphore({ runningMax: 1, waitingMax: 1, refuse: '' });
  const { plan } = createPostgresSearch({ sql: database.sql, bucket: 'atrium', slow });
  const slowOf = async (...filters: string[]) => (await plan(queryOf(...filters))).slow;
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
