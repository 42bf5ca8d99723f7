// A bin of any size is emptied in statements of bounded size, by any number of callers at once.

import { expect, test } from 'bun:test';
import { SERVICE } from '../../src/core/author.ts';
import { createCachedLookup } from '../../src/core/cached-lookup.ts';
import { newId } from '../../src/core/ids.ts';
import { PURGE_BATCH } from '../../src/documents/limits.ts';
import { createBin } from '../../src/documents/operations/bin.ts';
import type { Viewer } from '../../src/documents/policy.ts';
import { createSearchEntries } from '../../src/documents/search/entries.ts';
import { createDocumentStore } from '../../src/documents/store.ts';
import { testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';

const database = await shared(testDatabase());

const viewer = (): Viewer => ({ workspaceId: 'acme', userId: newId(), email: 'a@b', admin: false });

/** Binned documents of the viewer's, each a second older than the one before. */
async function fillBin({ workspaceId, userId }: Viewer, count: number): Promise<void> {
  await database.sql`
    INSERT INTO documents (id, workspace_id, upload_id, owner_id, name, object_key, summary, status,
      status_before_bin, deleted_at)
    SELECT gen_random_uuid(), ${workspaceId}, gen_random_uuid(), ${userId}, 'a.txt', 'acme/' || gen_random_uuid(),
      repeat('x', 1000), 'deleted', 'private', now() - i * interval '1 second'
    FROM generate_series(1, ${count}) AS i`;
}

const binned = async ({ userId }: Viewer): Promise<number> =>
  (await database.sql`SELECT 1 FROM documents WHERE owner_id = ${userId}`).length;
const queued = async (): Promise<number> => (await database.sql`SELECT 1 FROM jobs`).length;

function purger() {
  const batches: number[] = [];
  const store = createDocumentStore(database.sql, createSearchEntries());
  const bin = createBin({
    store: {
      ...store,
      async purgeOwn(who, limit, author) {
        const purged = await store.purgeOwn(who, limit, author);
        batches.push(purged.ids.length);
        return purged;
      },
    },
    documents: createCachedLookup({ load: store.locate, ttlMs: 1, entriesMax: 1, usable: () => false }),
    objectsQueued: () => {},
  });
  return { bin, batches };
}

test('a full bin is emptied batch by batch, and every object is queued for deletion', async () => {
  const [owner, neighbour] = [viewer(), viewer()];
  await fillBin(owner, PURGE_BATCH + 10);
  await fillBin(neighbour, 3);
  const before = await queued();
  const { bin, batches } = purger();
  await bin.empty(owner, SERVICE);
  expect(batches).toEqual([PURGE_BATCH, 10]);
  expect(await binned(owner)).toBe(0);
  expect(await binned(neighbour)).toBe(3);
  expect((await queued()) - before).toBe(PURGE_BATCH + 10);
});

test('who empties one bin at once neither blocks the others for good nor queues an object twice', async () => {
  const owner = viewer();
  const store = createDocumentStore(database.sql, createSearchEntries());
  for (let round = 0; round < 5; round++) {
    await fillBin(owner, 600);
    const retention = () => store.purgeBinnedBefore(new Date(), 1000);
    await Promise.all([
      purger().bin.empty(owner, SERVICE),
      retention(),
      purger().bin.empty(owner, SERVICE),
      retention(),
    ]);
    expect(await binned(owner)).toBe(0);
    const keys = await objectKeysQueued();
    expect(new Set(keys).size).toBe(keys.length);
  }
});

test('what is kept at hand for download URLs has nothing of the metadata, which may be large', async () => {
  const owner = viewer();
  await fillBin(owner, 1);
  const [row] = await database.sql<
    { id: string }[]
  >`SELECT id FROM documents WHERE owner_id = ${owner.userId}`;
  const located = await createDocumentStore(database.sql, createSearchEntries()).locate(row?.id ?? '');
  expect(JSON.stringify(located).length).toBeLessThan(300);
  expect(located).toMatchObject({ ownerId: owner.userId, name: 'a.txt', status: 'deleted' });
});

async function objectKeysQueued(): Promise<string[]> {
  const rows = await database.sql<{ key: string }[]>`SELECT payload ->> 'key' AS key FROM jobs`;
  return rows.map(({ key }) => key);
}
