// The store is away for a while, and Postgres is killed meanwhile: the archive has no gap afterwards, and restores every row.

import { expect, test } from 'bun:test';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/core/clock.ts';
import { startObjectStore } from '../../src/embedded/object-store/index.ts';
import { asSuperuser, clusterIn, startPostgres } from '../../src/embedded/postgres/index.ts';
import {
  archivingServer,
  examine,
  openArchiveStore,
  readArchives,
  readStatus,
  restoreTo,
  startArchiver,
} from '../../src/embedded/wal-archive/index.ts';
import { eventually } from '../support/child.ts';
import { connectTo, silentLog } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';

const KEYS = { accessKeyId: 'archive', secretAccessKey: 'archive-secret' };
const SETTINGS = {
  ...{ bucket: 'wal', timeoutSeconds: 1, retentionDays: 7, baseIntervalHours: 24 },
  queueBytesMax: Number.MAX_SAFE_INTEGER,
};

test('an archive has no gap after the store was away and Postgres was killed', async () => {
  const [storeFolder, directory, elsewhere] = [freshFolder(), realpathSync(freshFolder()), freshFolder()];
  const openStore = (port: number) =>
    startObjectStore(
      {
        ...{ directory: storeFolder, host: '127.0.0.1', port, region: 'us-east-1', bucket: 'first' },
        ...{ corsOrigins: [], retentionSeconds: 86_400, ...KEYS },
      },
      silentLog,
    );
  let store = await openStore(0);
  const { endpoint } = store;
  const openArchive = () =>
    openArchiveStore({
      ...{ endpoint, publicEndpoint: endpoint, region: 'us-east-1', bucket: 'wal', formProfile: 'standard' },
      ...KEYS,
    });
  const settings = archivingServer(SETTINGS);
  let postgres = await startPostgres({ directory, log: silentLog, settings });
  const { url } = postgres;
  const archiver = await startArchiver({
    ...{ directory, cluster: clusterIn(directory), url: asSuperuser(url), store: openArchive() },
    ...{ settings: SETTINGS, isService: true, log: silentLog },
  });
  const sql = connectTo(url);
  const superuser = connectTo(asSuperuser(url));
  /** A row, and a segment that ends with it. */
  const write = async (row: number): Promise<void> => {
    await sql`INSERT INTO written VALUES (${row})`;
    await superuser`SELECT pg_switch_wal()`;
  };
  try {
    await sql`CREATE TABLE written (row int PRIMARY KEY)`;
    await eventually('a base backup', () => readStatus(directory)?.base_backup_at ?? undefined);
    await write(1);
    await store.close();
    for (const row of [2, 3, 4]) await write(row);
    await eventually('the outage to be told', () => {
      const { failure, waiting_segments: segments = 0 } = readStatus(directory) ?? {};
      return typeof failure === 'string' && segments >= 3 ? true : undefined;
    });
    const postmaster = Number(
      (await Bun.file(join(clusterIn(directory), 'postmaster.pid')).text()).split('\n')[0],
    );
    process.kill(postmaster, 'SIGKILL');
    await postgres.exited;
    postgres = await startPostgres({ directory, log: silentLog, settings, port: Number(new URL(url).port) });
    for (const row of [5, 6])
      await eventually('a write', () =>
        write(row).then(
          () => true,
          () => undefined,
        ),
      );
    store = await openStore(Number(new URL(endpoint).port));
    await eventually('the log to be sent', () => {
      const { failure, waiting_segments: segments } = readStatus(directory) ?? {};
      return failure === null && segments === 0 ? true : undefined;
    });
  } finally {
    await Promise.all([sql.end({ timeout: 1 }), superuser.end({ timeout: 1 })]);
    archiver.endBases();
    await postgres.stop();
    await archiver.finish();
  }

  const archive = openArchive();
  const quiet = { note: () => undefined, step: () => undefined };
  try {
    const [found] = await readArchives(archive);
    if (found === undefined) throw new Error('there is no archive');
    expect(await examine(archive, found, { reads: true, ...quiet })).toMatchObject({
      faults: [],
      report: { gaps: 0 },
    });
    const restore = (at: Date | undefined) =>
      restoreTo({
        ...{ directory: elsewhere, store: archive, settings: SETTINGS, at, cluster: undefined },
        ...{ now: systemClock.now(), log: silentLog, ...quiet },
      });
    expect(restore(new Date('2999-01-01'))).rejects.toThrow('has not come yet');
    expect(restore(new Date('2001-01-01'))).rejects.toThrow('no base backup before that time');
    await restore(undefined);
  } finally {
    archive.close();
    await store.close();
  }
  const restored = await startPostgres({ directory: elsewhere, log: silentLog, settings });
  const rows = connectTo(restored.url);
  try {
    expect(
      (await rows<{ row: number }[]>`SELECT row FROM written ORDER BY row`).map(({ row }) => row),
    ).toEqual([1, 2, 3, 4, 5, 6]);
  } finally {
    await rows.end({ timeout: 1 });
    await restored.stop();
  }
});
