// Writers and readers at once: whoever searches after a write was answered sees it, whichever engine and process
// answers, also while the search server is killed and comes back.

import { expect, test } from 'bun:test';
import { createSemaphore } from '../../../src/core/semaphore.ts';
import type { Answered } from '../../../src/documents/search/index.ts';
import { createMeilisearchSearch } from '../../../src/documents/search/meilisearch/index.ts';
import { createPostgresSearch } from '../../../src/documents/search/postgres/index.ts';
import type { SearchQuery } from '../../../src/documents/search/query.ts';
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

type Search = (query: SearchQuery) => Promise<Answered>;

function searchOn(sql: Sql, server?: SearchServer): Search {
  const slow = createSemaphore({ runningMax: 2, waitingMax: 100, refuse: '' });
  const postgres = createPostgresSearch({ sql, bucket: 'atrium', slow });
  const meilisearch =
    server &&
    createMeilisearchSearch({ sql, indexes: createIndexes(server), bucket: 'atrium', log: silentLog });
  return async (query) => {
    const mirrored = await meilisearch?.search(query);
    if (mirrored !== undefined) return { ...mirrored, engine: 'meilisearch' };
    return { ...(await postgres.search(query)), engine: 'postgres' };
  };
}

/** One of many who write and look, each under a tag of its own, one change after the other; returns the searches. */
async function writeAndLook(sql: Sql, searches: readonly Search[], until: () => boolean) {
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
    const search = searches[Math.floor(Math.random() * searches.length)] ?? searches[0];
    if (search === undefined) throw new Error('nobody answers');
    const page = await search({
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

test('in Postgres no search is stale', async () => {
  await using database = await testDatabase();
  const searches = [searchOn(database.sql), searchOn(database.sql)];
  let rounds = 0;
  const until = () => rounds++ >= 2000;
  const engines = await Promise.all(
    Array.from({ length: 8 }, () => writeAndLook(database.sql, searches, until)),
  );
  expect(engines.flat().length).toBeGreaterThanOrEqual(2000);
});

test.skipIf(!url)('with Meilisearch no search is stale (needs MEILI_URL)', async () => {
  const server = { url: url ?? '', apiKey };
  await using setting = await mirrorSetting(server);
  const mirror = setting.open();
  await setting.start(mirror);
  await setting.settle(mirror);
  const searches = [searchOn(setting.sql, server), searchOn(setting.sql, server)];
  let rounds = 0;
  const until = () => rounds++ >= 2000;
  const engines = (
    await Promise.all(Array.from({ length: 4 }, () => writeAndLook(setting.sql, searches, until)))
  ).flat();
  const mirrored = engines.filter((engine) => engine === 'meilisearch').length;
  console.log(`${engines.length} searches beside writes, ${mirrored} answered by Meilisearch`);
  expect(mirrored).toBeGreaterThan(0);
});

test.skipIf(!binary)('nor while it is killed and comes back (needs MEILI_BINARY)', async () => {
  await using own = ownSearchServer(binary ?? '');
  await using setting = await mirrorSetting(own.server);
  const mirror = setting.open();
  await setting.start(mirror);
  await setting.settle(mirror);
  const searches = [searchOn(setting.sql, own.server), searchOn(setting.sql, own.server)];
  let killed = false;
  const lookers = Promise.all(
    Array.from({ length: 4 }, () => writeAndLook(setting.sql, searches, () => killed)),
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
