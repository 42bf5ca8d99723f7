// `bun run admin wal-archive …`: what the archive of the embedded database's log can restore, and the restore to a moment.

import { createWriteStream, rmSync } from 'node:fs';
import { join } from 'node:path';
import { linesOf } from '../backup/files.ts';
import type { Config } from '../config.ts';
import { systemClock } from '../core/clock.ts';
import { parseDateTime } from '../core/date-time.ts';
import type { Logger } from '../core/logger.ts';
import { lowerPriority } from '../core/priority.ts';
import { SettingsError } from '../core/settings-reader.ts';
import { connectDatabase, postgresFolder } from '../database.ts';
import { OBJECT_KEYS } from '../documents/index.ts';
import { openDataFolder } from '../embedded/data-folder.ts';
import { asSuperuser, clusterIn, hasCluster } from '../embedded/postgres/index.ts';
import {
  type ArchiveStore,
  examine,
  readArchives,
  restoreTo,
  takeBase,
} from '../embedded/wal-archive/index.ts';
import { connectPostgres, type Sql } from '../infra/postgres/client.ts';
import { copyOut } from '../infra/postgres/copy.ts';
import type { ObjectStore } from '../infra/s3/client.ts';
import { openArchive, openBacking, startBacking } from '../processes/backing.ts';
import { openStore } from '../processes/store.ts';
import { type Context, type Done, NICENESS, openObjects, progressTo } from './backup.ts';

export const showArchive = (_: string, context: Context): Promise<Done> => report(context, { reads: false });
export const verifyArchive = (_: string, context: Context): Promise<Done> => report(context, { reads: true });

/** With several databases in the bucket the report is of that which was archived last, and names the others. */
async function report({ config, log }: Context, { reads }: { reads: boolean }): Promise<Done> {
  requireArchive(config);
  const store = await openStore(config, log);
  const archive = openArchive(config, store.s3);
  try {
    const archives = await readArchives(archive);
    const latest = ({ logs }: (typeof archives)[0]) => Math.max(0, ...[...logs.values()].map(Number));
    const [newest, ...others] = archives.sort((a, b) => latest(b) - latest(a));
    if (newest === undefined) throw new SettingsError(nothingIn(archive));
    const examined = await examine(archive, newest, { reads, step: progressTo(log).step });
    const found = { ...examined.report, other_clusters: others.map(({ id }) => id).join(', ') || null };
    return examined.faults.length === 0
      ? { report: found }
      : { report: found, refusal: examined.faults.join('; ') };
  } finally {
    archive.close();
    await store.stop();
  }
}

const nothingIn = ({ bucket }: ArchiveStore): string =>
  `WAL_ARCHIVE_BUCKET: the bucket ${bucket} holds no archive`;

function requireArchive(config: Config): NonNullable<Config['walArchive']> {
  if (config.walArchive !== undefined) return config.walArchive;
  throw new SettingsError('WAL_ARCHIVE_BUCKET is not set: the write-ahead log has no archive');
}

export async function baseBackup(_: string, { config, log, record }: Context): Promise<Done> {
  requireArchive(config);
  lowerPriority(NICENESS);
  const backing = await openBacking(config, log);
  const archive = openArchive(config, backing.s3);
  try {
    const own = await connectDatabase(backing.databaseUrl, log);
    await record(own, 'service.base-backup').finally(() => own.end());
    const url = asSuperuser(backing.databaseUrl);
    const sql = connectPostgres({ url, applicationName: 'atrium-wal-archive', log, connectionsMax: 1 });
    try {
      const { step } = progressTo(log);
      const base = await takeBase({
        sql,
        store: archive,
        cluster: clusterIn(postgresFolder(config)),
        onProgress: (bytes) => step(() => `base backup: ${Math.round(bytes / 1024 ** 2)} MiB read`),
      });
      const { id, stopped_at, files, bytes, part_bytes } = base;
      return { report: { id, stopped_at, files, bytes, bytes_stored: part_bytes } };
    } finally {
      await sql.end({ timeout: 1 });
    }
  } finally {
    archive.close();
    await backing.stop();
  }
}

/** The data folder is locked meanwhile, so that no service starts on it. */
export async function restoreToMoment(
  _: string,
  { config, log, record }: Context,
  { at, cluster }: { at?: unknown; cluster?: unknown },
): Promise<Done> {
  const settings = requireArchive(config);
  const moment = at === undefined ? undefined : parseDateTime(String(at));
  if (at !== undefined && moment === undefined)
    throw new SettingsError(
      `--at: ${JSON.stringify(at)} is no time; write it like 2026-01-31T09:30:00Z, or with +01:00 in place of Z`,
    );
  const directory = postgresFolder(config);
  const folder = openDataFolder(config.dataDir);
  const progress = progressTo(log);
  let restored: Awaited<ReturnType<typeof restoreTo>>;
  try {
    if (hasCluster(directory))
      throw new SettingsError(
        `DATA_DIR: ${clusterIn(directory)} is there: move it away first, and keep it until the restored service is right`,
      );
    const store = await openStore(config, log, { isLocked: true });
    const archive = openArchive(config, store.s3);
    try {
      restored = await restoreTo({
        directory,
        settings,
        log,
        store: archive,
        at: moment,
        now: systemClock.now(),
        cluster: cluster === undefined ? undefined : String(cluster),
        ...progress,
      });
    } finally {
      archive.close();
      await store.stop();
    }
  } finally {
    folder.close();
  }
  const missing = await checkObjects({ config, log, record });
  const done = { ...restored, missing_objects: missing };
  if (missing === 0) return { report: done };
  return {
    report: done,
    refusal:
      `the database is restored, but the store has no object any more for ${missing} of its documents, which were purged since; ` +
      `${missingFile(config)} lists their keys`,
  };
}

const missingFile = ({ dataDir }: Config): string => join(dataDir, 'missing-objects.txt');

/** How many documents of the database have no object. The schema is brought up to date first. */
async function checkObjects({ config, log, record }: Context): Promise<number> {
  const backing = await startBacking(config, log);
  const objects = openObjects(config, backing.s3);
  try {
    const sql = await connectDatabase(backing.databaseUrl, log);
    try {
      await record(sql, 'service.restore-to');
      await objects.ensureBucket();
      return await listMissing(sql, objects, { file: missingFile(config), log });
    } finally {
      await sql.end();
    }
  } finally {
    objects.close();
    await backing.stop();
  }
}

/** Both lists are in the order of the bytes of their keys. */
async function listMissing(
  sql: Sql,
  objects: ObjectStore,
  { file, log }: { file: string; log: Logger },
): Promise<number> {
  const { step } = progressTo(log);
  rmSync(file, { force: true });
  const connection = sql.reserve({ unlimited: true });
  const rows = copyOut(connection, `COPY (${OBJECT_KEYS} ORDER BY object_key COLLATE "C") TO STDOUT`);
  const listed = keysOf(objects);
  let output: ReturnType<typeof createWriteStream> | undefined;
  let [looked, missing] = [0, 0];
  try {
    let there = await listed.next();
    for await (const key of linesOf(rows)) {
      step(() => `objects: ${looked} looked for`);
      looked += 1;
      const wanted = Buffer.from(key);
      while (there.done !== true && Buffer.from(there.value).compare(wanted) < 0) there = await listed.next();
      if (there.done !== true && there.value === key) continue;
      missing += 1;
      output ??= createWriteStream(file, { mode: 0o600 });
      output.write(`${key}\n`);
    }
  } finally {
    connection.release();
    const open = output;
    if (open !== undefined) await new Promise<void>((resolve) => open.end(resolve));
  }
  return missing;
}

async function* keysOf(objects: ObjectStore): AsyncGenerator<string> {
  for await (const page of objects.list('')) for (const { key } of page) yield key;
}
