// What keeps an archive able to restore while services, restored copies and buckets come and go; on a store in memory.

import { expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readArchive, readTimeline, timelineAt } from '../../src/embedded/wal-archive/archives.ts';
import type { ArchiveStore } from '../../src/embedded/wal-archive/index.ts';
import { createUpkeep } from '../../src/embedded/wal-archive/upkeep.ts';
import { silentLog } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';

const DAY_MS = 86_400_000;
const ID = '7';
const HISTORY = '00000002.history';

function storeInMemory() {
  const held = new Map<string, Uint8Array>();
  const state = { refusesRemoval: false };
  const add = async (key: string, bytes: Uint8Array): Promise<boolean> => {
    if (held.has(key)) return false;
    held.set(key, bytes);
    return true;
  };
  const store: ArchiveStore = {
    bucket: 'wal',
    add,
    close: () => undefined,
    now: async () => new Date(),
    ensureBucket: async () => false,
    has: async (key) => held.has(key),
    read: async (key) => held.get(key),
    addJson: (key, value) => add(key, new TextEncoder().encode(JSON.stringify(value))),
    readText: async (key) => new TextDecoder().decode(held.get(key)),
    list: async (prefix) =>
      [...held.keys()]
        .filter((key) => key.startsWith(prefix))
        .map((key) => ({ key, size: 1, etag: undefined, lastModified: new Date() })),
    async remove(keys) {
      if (state.refusesRemoval && keys.length > 0) throw new Error('removal is refused');
      for (const key of keys) held.delete(key);
    },
  };
  return { store, held, state, read: async () => readArchive(store, ID, await store.list(`${ID}/`)) };
}

/** A cluster whose log is on the timeline; it is only read. */
function clusterOn(timeline: number): string {
  const cluster = freshFolder();
  const folder = join(cluster, 'pg_wal');
  mkdirSync(folder);
  writeFileSync(join(folder, `0000000${timeline}0000000000000005`), '');
  if (timeline > 1) writeFileSync(join(folder, HISTORY), '1\t0/5000100\tbefore 2026\n');
  return cluster;
}

/** A service that begins on the cluster, and looks after the archive. */
function begin({ store }: { store: ArchiveStore }, cluster: string, hasConflict = () => false) {
  const settings = {
    bucket: 'wal',
    timeoutSeconds: 1,
    retentionDays: 7,
    baseIntervalHours: 0,
    queueBytesMax: 1,
  };
  const upkeep = createUpkeep(
    { cluster, url: '', store, settings, log: silentLog },
    { id: ID, signal: new AbortController().signal, isWaiting: () => false, hasConflict, gaps: () => 0 },
  );
  return async () => {
    upkeep.begin();
    await upkeep.ended();
    return upkeep.state();
  };
}

test('a bucket that is new to a restored database gets what a restore of its timeline needs', async () => {
  const archive = storeInMemory();
  const look = begin(archive, clusterOn(2));
  expect(await look()).toMatchObject({ base_backup_failure: null, other_timeline: null });
  expect(timelineAt(await archive.read(), undefined)).toBe(2);
  expect((await readTimeline(archive.store, ID, 2)).ancestors).toMatchObject([{ timeline: 1 }]);
  const size = archive.held.size;
  await look();
  expect(archive.held.size).toBe(size);
  expect(readTimeline(archive.store, ID, 3)).rejects.toThrow('lacks 00000003.history');
});

test('times belong to the timeline that a service began on last, and one that runs beside it is told', async () => {
  const archive = storeInMemory();
  const [first, second] = [clusterOn(1), clusterOn(2)];
  const looksOfFirst = begin(archive, first);
  expect(await looksOfFirst()).toMatchObject({ other_timeline: null });
  expect([...archive.held]).toEqual([]);
  const looksOfSecond = begin(archive, second);
  expect(await looksOfSecond()).toMatchObject({ other_timeline: null });
  expect(await looksOfFirst()).toMatchObject({ other_timeline: 2 });
  expect(timelineAt(await archive.read(), undefined)).toBe(2);
  // The folder of before the restore is taken up again.
  await Bun.sleep(2);
  const again = begin(archive, first);
  expect(await again()).toMatchObject({ other_timeline: null });
  expect(timelineAt(await archive.read(), undefined)).toBe(1);
  expect(await looksOfSecond()).toMatchObject({ other_timeline: 1 });
});

test('what a store does not remove is told until it does, and nothing is removed during a conflict', async () => {
  const archive = storeInMemory();
  for (const days of [30, 20])
    await archive.store.addJson(`${ID}/bases/of-${days}.json`, {
      id: `of-${days}`,
      timeline: 1,
      start: '0/5000028',
      stop: '0/5000100',
      stopped_at: new Date(Date.now() - days * DAY_MS).toISOString(),
    });
  let conflict = true;
  const look = begin(archive, clusterOn(1), () => conflict);
  await look();
  expect(archive.held.size).toBe(2);
  conflict = false;
  archive.state.refusesRemoval = true;
  for (let times = 0; times < 2; times += 1)
    expect(await look()).toMatchObject({
      retention_failure: 'removal is refused',
      base_backup_failure: null,
    });
  archive.state.refusesRemoval = false;
  expect(await look()).toMatchObject({ retention_failure: null });
  expect([...archive.held.keys()]).toEqual([`${ID}/bases/of-20.json`]);
});
