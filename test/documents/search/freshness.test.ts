// Writers and readers at once: whoever searches after a write was answered sees it, whichever engine and process
// answers, also while the search server is killed and comes back.

import { expect, test } from 'bun:test';
import { createSemaphore } from '../../../src/core/semaphore.ts';
import { createMeilisearchSearch } from '../../../src/documents/search/meilisearch/index.ts';
import { createSearchPlanner, type SearchPlanner } from '../../../src/documents/search/planner.ts';
import { createCommonTerms } from '../../../src/documents/search/postgres/common-terms.ts';
import { createCountFolding } from '../../../src/documents/search/postgres/count-folding.ts';
import { createPostgresSearch } from '../../../src/documents/search/postgres/index.ts';
import { createSizes } from '../../../src/documents/search/postgres/sizes.ts';
import { createIndexes } from '../../../src/infra/meilisearch/indexes.ts';
import type { Sql } from '../../../src/infra/postgres/client.ts';
import { silentLog, testDatabase } from '../../support/database.ts';
import {
  createLibrary,
  mirrorSetting,
  ownSearchServer,
  type SearchServer,
  VIEWER,
} from './mirror-setting.ts';

const { MEILI_URL: url, MEILI_API_KEY: apiKey, MEILI_BINARY: binary } = process.env;

function plannerOn(sql: Sql, server?: SearchServer) {
  const common = createCommonTerms(sql, 5);
  const slow = createSemaphore({ runningMax: 2, waitingMax: 100, refuse: '' });
  const sizes = createSizes(server === undefined ? undefined : { small: 0, medium: 0 });
  const postgres = createPostgresSearch({ sql, bucket: 'atrium', slow, common, sizes });
  const meilisearch = server && createMeilisearchSearch({ indexes: createIndexes(server), postgres });
  // Few documents are found sooner without it, and on a busy machine it is late.
  const choice = { of: () => 'meilisearch' as const, learn: () => undefined, figure: () => undefined };
  return {
    planner: createSearchPlanner({ postgres, meilisearch, log: silentLog, choice, hedgeMs: 1000 }),
    fold: createCountFolding({ sql, common, log: silentLog }),
  };
}

/** One of many who write and look, each under a tag of its own, one change after the other; returns the searches. */
async function writeAndLook(sql: Sql, planners: readonly SearchPlanner[], until: () => boolean) {
  const library = createLibrary(sql);
  const tag = crypto.randomUUID();
  const alive = new Set<string>();
  const engines: string[] = [];
  while (!until()) {
    const [oldest] = alive;
    if (oldest !== undefined && (alive.size > 6 || Math.random() < 0.3)) {
      await library.purge(oldest);
      alive.delete(oldest);
    } else alive.add(await library.insert({ tags: [tag] }));
    const planner = planners[Math.floor(Math.random() * planners.length)] ?? planners[0];
    if (planner === undefined) throw new Error('nobody answers');
    const page = await planner.search({
      viewer: VIEWER,
      predicates: [{ attribute: 'tags', negated: false, test: { kind: 'one-of', values: [tag] } }],
      archived: 'without',
      order: [{ attribute: 'id', descending: false }],
      offset: 0,
      limit: 50,
    });
    const found = { ids: page.documents.map(({ id }) => id), total: page.total };
    expect(found).toEqual({ ids: [...alive].sort(), total: alive.size });
    engines.push(page.engine);
  }
  return engines;
}

test('in Postgres no search is stale, while counts are folded by two processes', async () => {
  await using database = await testDatabase();
  const sides = [plannerOn(database.sql), plannerOn(database.sql)];
  let done = false;
  const folding = sides.map(async ({ fold }) => {
    for (; !done; await Bun.sleep(20)) await fold(new AbortController().signal);
  });
  let rounds = 0;
  const planners = sides.map(({ planner }) => planner);
  const until = () => rounds++ >= 2000;
  const engines = await Promise.all(
    Array.from({ length: 8 }, () => writeAndLook(database.sql, planners, until)),
  );
  done = true;
  await Promise.all(folding);
  expect(engines.flat().length).toBeGreaterThanOrEqual(2000);
});

test('in Postgres what was written a moment ago is counted, folded or not', async () => {
  await using database = await testDatabase();
  const { planner, fold } = plannerOn(database.sql);
  const library = createLibrary(database.sql);
  const count = async (): Promise<number> => {
    const order = [{ attribute: 'id', descending: false }] as const;
    const query = {
      viewer: VIEWER,
      predicates: [],
      archived: 'without',
      order,
      offset: 0,
      limit: 1,
    } as const;
    return (await planner.search(query)).total;
  };
  const first = await library.insert();
  expect(await count()).toBe(1);
  await fold(new AbortController().signal);
  expect(await count()).toBe(1);
  await library.insert();
  expect(await count()).toBe(2);
  await library.purge(first);
  expect(await count()).toBe(1);
});

test.skipIf(!url)('with Meilisearch no search is stale (needs MEILI_URL)', async () => {
  const server = { url: url ?? '', apiKey };
  await using setting = await mirrorSetting(server);
  const mirror = setting.open();
  await setting.start(mirror);
  await setting.settle(mirror);
  const planners = [plannerOn(setting.sql, server).planner, plannerOn(setting.sql, server).planner];
  let rounds = 0;
  const until = () => rounds++ >= 2000;
  const engines = (
    await Promise.all(Array.from({ length: 4 }, () => writeAndLook(setting.sql, planners, until)))
  ).flat();
  const mirrored = engines.filter((engine) => engine === 'meilisearch').length;
  console.log(`${engines.length} searches beside writes, ${mirrored} answered by Meilisearch`);
  expect(mirrored).toBeGreaterThan(engines.length / 10);
});

test.skipIf(!binary)('nor while it is killed and comes back (needs MEILI_BINARY)', async () => {
  await using own = ownSearchServer(binary ?? '');
  await using setting = await mirrorSetting(own.server);
  const mirror = setting.open();
  await setting.start(mirror);
  await setting.settle(mirror);
  const planners = [plannerOn(setting.sql, own.server).planner, plannerOn(setting.sql, own.server).planner];
  let killed = false;
  const lookers = Promise.all(
    Array.from({ length: 4 }, () => writeAndLook(setting.sql, planners, () => killed)),
  );
  for (let kill = 0; kill < 3; kill++) {
    await Bun.sleep(2000);
    await own.kill();
    await Bun.sleep(500);
    own.boot();
  }
  await Bun.sleep(4000);
  killed = true;
  const engines = (await lookers).flat();
  console.log(
    `${engines.length} searches, ${engines.filter((engine) => engine === 'meilisearch').length} by Meilisearch`,
  );
  expect(new Set(engines)).toEqual(new Set(['meilisearch', 'postgres']));
  await setting.stop(mirror);
});
