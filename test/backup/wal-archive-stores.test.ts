// The archive on each store, over a connection that loses answers and breaks off, while Postgres is killed: it has no gap afterwards,
// the next base backup is made after one that failed, a retention removes what it may, and a restore that is cut off can be repeated.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/core/clock.ts';
import { startObjectStore } from '../../src/embedded/object-store/index.ts';
import {
  asSuperuser,
  clusterIn,
  type EmbeddedPostgres,
  hasCluster,
  startPostgres,
} from '../../src/embedded/postgres/index.ts';
import { readArchive } from '../../src/embedded/wal-archive/archives.ts';
import { readIdentifier } from '../../src/embedded/wal-archive/base.ts';
import {
  archivingServer,
  examine,
  openArchiveStore,
  readStatus,
  restoreTo,
  startArchiver,
  takeBase,
} from '../../src/embedded/wal-archive/index.ts';
import { keysOf } from '../../src/embedded/wal-archive/names.ts';
import { removeExpired } from '../../src/embedded/wal-archive/retention.ts';
import { addOnce } from '../../src/embedded/wal-archive/store.ts';
import { eventually } from '../support/child.ts';
import { connectTo, silentLog } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';
import { missingStore, STORES, type StoreName, startRealStore } from '../support/object-stores.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

const KEYS = { accessKeyId: 'archive', secretAccessKey: 'archive-secret' };
const SETTINGS = {
  bucket: 'wal',
  timeoutSeconds: 1,
  retentionDays: 7,
  baseIntervalHours: 24,
  queueBytesMax: Number.MAX_SAFE_INTEGER,
};
const DAY_MS = 86_400_000;
const quiet = { note: () => undefined, step: () => undefined };

type Place = { endpoint: string; accessKeyId: string; secretAccessKey: string; stop(): Promise<void> };

async function startStore(name: StoreName): Promise<Place> {
  if (name === 'embedded') {
    const options = {
      directory: freshFolder(),
      host: '127.0.0.1',
      port: 0,
      region: 'us-east-1',
      bucket: 'first',
    };
    const store = await startObjectStore(
      { ...options, corsOrigins: [], retentionSeconds: 86_400, ...KEYS },
      silentLog,
    );
    return { endpoint: store.endpoint, ...KEYS, stop: store.close };
  }
  const { environment, stop } = await startRealStore(name);
  const { S3_ENDPOINT = '', S3_ACCESS_KEY_ID = '', S3_SECRET_ACCESS_KEY = '' } = environment;
  const keys = { accessKeyId: S3_ACCESS_KEY_ID, secretAccessKey: S3_SECRET_ACCESS_KEY };
  return { endpoint: S3_ENDPOINT, ...keys, stop };
}

const openArchive = ({ stop: _, ...identity }: Place) =>
  openArchiveStore({
    ...identity,
    publicEndpoint: identity.endpoint,
    region: 'us-east-1',
    bucket: 'wal',
    formProfile: 'standard',
  });

const server = archivingServer(SETTINGS);
let directory = '';
let cluster = '';
let id = '';
let postgres: EmbeddedPostgres;

/** One database, whose log goes to one store after the other. */
beforeAll(async () => {
  directory = realpathSync(freshFolder());
  cluster = clusterIn(directory);
  postgres = await startPostgres({ directory, log: silentLog, settings: server });
  id = await readIdentifier(cluster);
});
afterAll(() => postgres?.stop());

async function killPostgres(): Promise<void> {
  const { port } = new URL(postgres.url);
  process.kill(Number((await Bun.file(join(cluster, 'postmaster.pid')).text()).split('\n')[0]), 'SIGKILL');
  await postgres.exited;
  postgres = await startPostgres({ directory, log: silentLog, settings: server, port: Number(port) });
}

const waiting = (): string[] =>
  readdirSync(join(cluster, 'pg_wal/archive_status')).filter((file) => file.endsWith('.ready'));

const titleOf = (name: StoreName): string =>
  `${name}${missingStore(name) === undefined ? '' : ` (${missingStore(name)})`}`;

describe.each(STORES.map((name) => [titleOf(name), name] as const))('an archive on %s', (_, name) => {
  test.skipIf(missingStore(name) !== undefined)(
    'has no gap after faults, is shortened, and restores',
    async () => {
      await using ends = new AsyncDisposableStack();
      const place = await startStore(name);
      ends.defer(place.stop);
      const proxy = ends.use(await startTcpProxy(place.endpoint));
      const archive = openArchive(place);
      ends.defer(archive.close);
      const connect = (url: string) => {
        const sql = connectTo(url);
        ends.defer(() => sql.end({ timeout: 1 }));
        return sql;
      };
      const sql = connect(postgres.url);
      const superuser = connect(asSuperuser(postgres.url));
      const read = async () => readArchive(archive, id, await archive.list(`${id}/`));
      /** A row, and a segment that ends with it. */
      const write = async (row: number): Promise<void> => {
        await sql`INSERT INTO written VALUES (${row})`;
        await superuser`SELECT pg_switch_wal()`;
      };
      const base = (onProgress?: () => void) =>
        takeBase({
          sql: superuser,
          cluster,
          store: openArchive({ ...place, endpoint: proxy.url }),
          ...(onProgress === undefined ? {} : { onProgress }),
        });
      const sent = () => eventually('the log to be sent', () => waiting().length === 0 || undefined);

      await sql`CREATE TABLE IF NOT EXISTS written (row int)`;
      await sql`TRUNCATE written`;
      const archiver = await startArchiver({
        directory,
        cluster,
        url: asSuperuser(postgres.url),
        settings: SETTINGS,
        isService: true,
        store: openArchive({ ...place, endpoint: proxy.url }),
        log: silentLog,
      });
      let ended = false;
      const end = async (): Promise<void> => {
        if (ended) return;
        ended = true;
        archiver.endBases();
        await archiver.finish();
      };
      ends.defer(end);
      await eventually('the first base backup', async () => {
        const { bases } = await read().catch(() => ({ bases: [] }));
        return bases.length > 0 || undefined;
      });

      // Answers that are lost: of a segment, of a part of a base backup, and of its manifest. The embedded store refuses the condition
      // first, and that answer is lost there.
      const lost = [proxy.loseNextAnswer(/^PUT \/wal\/\d+\/wal\//)];
      await write(1);
      await lost[0];
      await sent();
      const losing = proxy
        .loseNextAnswer(/^PUT \/wal\/\d+\/base\//)
        .then(() => proxy.loseNextAnswer(/^PUT \/wal\/\d+\/bases\//));
      const second = await base();
      await losing;
      const between = Date.parse(second.stopped_at) + 1;
      await eventually('a later moment', () => Date.now() > between || undefined);
      await write(2);
      await sent();

      // The store is lost in the middle of a base backup, for a while.
      const failed = base(() => proxy.cut()).catch((error: Error) => error);
      await eventually('the base backup to fail', async () => (await failed) instanceof Error);
      for (const row of [3, 4]) await write(row);
      await eventually('the outage to be told', () => {
        const { failure, waiting_segments: segments = 0 } = readStatus(directory) ?? {};
        return (typeof failure === 'string' && segments >= 2) || undefined;
      });
      await killPostgres();
      await eventually('a write', () =>
        write(5).then(
          () => true,
          () => undefined,
        ),
      );
      proxy.heal();
      await sent();
      const last = await base();

      // What two copies of a database would send.
      const [key = ''] = [...(await read()).logs.keys()].map(keysOf(id).log);
      const bytes = (await archive.read(key)) ?? new Uint8Array();
      expect(await addOnce(archive, { key, bytes })).toBe(true);
      expect(await addOnce(archive, { key, bytes: new Uint8Array(3) })).toBe(false);

      // A retention: of what is too old, and of the base backup that failed when it is a day old.
      for (const [old, days] of Object.entries({ old: 30, older: 31 })) {
        const stopped_at = new Date(Date.now() - days * DAY_MS).toISOString();
        await archive.addJson(keysOf(id).manifest(old), { ...last, id: old, start: '0/1000028', stopped_at });
      }
      await archive.add(keysOf(id).part('older', 0), bytes);
      await archive.add(keysOf(id).log('000000010000000000000000'), bytes);
      const idsOfParts = async () =>
        new Set((await archive.list(keysOf(id).parts)).map((part) => part.key.split('/')[2]));
      const kept = [second.id, last.id];
      const inDays = (days: number) => ({ days: 7, now: new Date(Date.now() + days * DAY_MS) });
      // The store's clock says that it is today.
      expect(await removeExpired(archive, await read(), inDays(365))).toEqual({ bases: 1, logs: 1 });
      const { bases: left } = await read();
      expect(left.map((each) => each.id)).toEqual(['old', expect.any(String), ...kept]);
      expect((await idsOfParts()).size).toBe(4);
      const later = { ...archive, now: async () => inDays(6).now };
      expect((await removeExpired(later, await read(), inDays(6))).bases).toBe(0);
      expect((await idsOfParts()).size).toBe(3);
      await archive.remove([keysOf(id).manifest('old')]);
      await end();
      const found = await read();
      expect(await examine(archive, found, { reads: true, ...quiet })).toMatchObject({
        faults: [],
        report: { gaps: 0, earliest: left[1]?.stopped_at },
      });

      const elsewhere = freshFolder();
      const restore = (at: Date | undefined, step = quiet.step as (render: () => string) => void) =>
        restoreTo({
          directory: elsewhere,
          store: openArchive({ ...place, endpoint: proxy.url }),
          settings: SETTINGS,
          at,
          cluster: undefined,
          now: systemClock.now(),
          log: silentLog,
          note: quiet.note,
          step,
        });
      expect(restore(new Date('2999-01-01'))).rejects.toThrow('has not come yet');
      expect(restore(new Date('2001-01-01'))).rejects.toThrow('no base backup before that time');
      // The same on each store, and it takes a Postgres of its own.
      if (name === 'embedded') {
        const cutOff = restore(new Date(between), (render) => {
          if (render().startsWith('log: ')) proxy.cut();
        });
        expect(await cutOff.catch((error: Error) => error.message)).toContain('cannot be reached');
        expect(readdirSync(elsewhere).filter((entry) => entry.startsWith('cluster'))).toEqual([]);
        expect(hasCluster(elsewhere)).toBe(false);
        proxy.heal();
      }
      await restore(new Date(between));
      expect(existsSync(join(clusterIn(elsewhere), 'recovery.signal'))).toBe(false);
      const restored = await startPostgres({ directory: elsewhere, log: silentLog, settings: server });
      ends.defer(restored.stop);
      const rows = await connect(restored.url)<{ row: number }[]>`SELECT row FROM written ORDER BY row`;
      expect(rows.map(({ row }) => row)).toEqual([1]);
    },
  );
});
