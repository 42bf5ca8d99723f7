// A base backup: the files of the running cluster, which a restore begins with. They are copied while they change; the log from
// the backup's beginning to its end makes them consistent, so that there is a backup only once the archive has that, too.

import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../core/clock.ts';
import { sleep } from '../../core/wait.ts';
import type { Reserved, Sql } from '../../infra/postgres/client.ts';
import type { BaseManifest } from './archives.ts';
import { keysOf, parsePosition, parseSegment, segmentAt, segmentName, stampOf } from './names.ts';
import { type ArchiveStore, addOnce } from './store.ts';
import { orAbsent, TAR_END, type TarEntry, tarContent, tarHeader, tarPadding } from './tar.ts';

/** The base backup is refused; the message is one line. */
export class BaseRefused extends Error {}

/** Of the archive of tar, before it is compressed; held in memory. */
const PART_BYTES = 32 * 1024 * 1024;
const LOCK = 'wal-archive.base';
/** For the log of the backup, to be archived. */
const LOG_WAIT_MS = 600_000;
const LOG_POLL_MS = 200;

/** What Postgres makes anew at a start, or what belongs to the running server alone: as in its documentation of base backups. */
const EMPTIED = new Set(
  'pg_wal pg_wal/archive_status pg_wal/summaries pg_replslot pg_dynshmem pg_notify pg_serial pg_snapshots pg_stat_tmp pg_subtrans'.split(
    ' ',
  ),
);
const LEFT_OUT =
  /(^|\/)(postmaster\.(pid|opts)|backup_label|tablespace_map|backup_manifest|pg_internal\.init(\.\d+)?|pgsql_tmp[^/]*|current_logfiles(\.tmp)?)$/;

export type BaseDeps = {
  /** As a superuser. */
  sql: Sql;
  cluster: string;
  store: ArchiveStore;
  signal?: AbortSignal;
  /** Called with the bytes copied so far. */
  onProgress?(bytes: number): void;
};

/** The first 8 bytes of the control file: of this cluster, and of all restored from it. */
export async function readIdentifier(cluster: string): Promise<string> {
  const control = await readFile(join(cluster, 'global/pg_control'));
  return String(control.readBigUInt64LE(0));
}

/** Throws BaseRefused while another base backup is made. The parts of an interrupted one are removed by the next. */
export async function takeBase(deps: BaseDeps): Promise<BaseManifest> {
  const { sql, cluster, store, signal } = deps;
  const keys = keysOf(await readIdentifier(cluster));
  await store.ensureBucket();
  // Postgres ends the backup with the connection.
  const connection = sql.reserve({ unlimited: true });
  try {
    const [lock] = await connection<{ held: boolean }[]>`
      SELECT pg_try_advisory_lock(hashtextextended(${LOCK}, 0)) AS held`;
    if (lock?.held !== true) throw new BaseRefused('another base backup is being made');
    const startedAt = systemClock.now();
    const begun = await begin(connection);
    const id = `${stampOf(startedAt)}-${begun.segment}`;
    const upload = createUpload(deps, (index) => keys.part(id, index));
    let files = 0;
    for await (const entry of entriesOf(cluster)) {
      signal?.throwIfAborted();
      await upload.add(tarHeader(entry));
      if (entry.folder) continue;
      for await (const part of tarContent(join(cluster, entry.path), entry.size)) await upload.add(part);
      files += 1;
    }
    const ended = await end(connection);
    await upload.addFile('backup_label', ended.label);
    await upload.add(TAR_END);
    const sizes = await upload.finish();
    const stoppedAt = systemClock.now();
    const stored = await sizesOf(store, keys.partsOf(id));
    if (stored.parts !== sizes.parts) throw new Error('the archive has lost parts of the base backup');
    await awaitLog(deps, (number) => keys.log(segmentName({ timeline: begun.timeline, number })), {
      first: segmentAt(parsePosition(begun.position)),
      last: segmentAt(parsePosition(ended.position) - 1n),
    });
    const manifest: BaseManifest = {
      format: 'atrium-base-backup',
      format_version: 1,
      id,
      postgres: begun.postgres,
      timeline: begun.timeline,
      start: begun.position,
      stop: ended.position,
      started_at: startedAt.toISOString(),
      stopped_at: stoppedAt.toISOString(),
      files: files + 1,
      ...sizes,
      ...stored,
    };
    await store.addJson(keys.manifest(id), manifest);
    return manifest;
  } finally {
    connection.release();
  }
}

async function sizesOf(store: ArchiveStore, prefix: string): Promise<{ parts: number; part_bytes: number }> {
  const parts = await store.list(prefix);
  return { parts: parts.length, part_bytes: parts.reduce((sum, { size }) => sum + size, 0) };
}

async function begin(connection: Reserved) {
  const [row] = await connection<{ position: string; segment: string; timeline: number; postgres: string }[]>`
    SELECT position::text, pg_walfile_name(position) AS segment,
      ('x' || left(pg_walfile_name(position), 8))::bit(32)::int AS timeline,
      current_setting('server_version') AS postgres
    FROM pg_backup_start('atrium', true) AS started (position)`;
  if (row === undefined) throw new Error('Postgres does not begin a base backup');
  return row;
}

async function end(connection: Reserved): Promise<{ position: string; label: string }> {
  const [row] = await connection<{ position: string; label: string }[]>`
    SELECT lsn::text AS position, labelfile AS label FROM pg_backup_stop(false)`;
  if (row === undefined) throw new Error('Postgres does not end the base backup');
  return row;
}

/** Folders come before their contents. Files that are removed meanwhile are left out. */
async function* entriesOf(cluster: string, folder = ''): AsyncGenerator<TarEntry> {
  const names = await readdir(join(cluster, folder)).catch(orAbsent);
  for (const name of (names ?? []).sort()) {
    const path = folder === '' ? name : `${folder}/${name}`;
    if (LEFT_OUT.test(path)) continue;
    const about = await stat(join(cluster, path)).catch(orAbsent);
    if (about === undefined) continue;
    const isFolder = about.isDirectory();
    if (EMPTIED.has(folder) && !EMPTIED.has(path)) continue;
    yield { path, size: about.size, folder: isFolder };
    if (isFolder) yield* entriesOf(cluster, path);
  }
}

/** Cuts what it is given into parts, one of which is sent while the next one is filled. */
function createUpload({ store, onProgress }: BaseDeps, keyOf: (index: number) => string) {
  let pieces: Uint8Array[] = [];
  let filled = 0;
  const sizes = { bytes: 0, parts: 0 };
  let sending: Promise<void> = Promise.resolve();
  const send = async (index: number, content: Uint8Array): Promise<void> => {
    const key = keyOf(index);
    if (!(await addOnce(store, { key, bytes: content })))
      throw new Error(`the archive has another content of ${key}`);
    onProgress?.(sizes.bytes);
  };
  const flush = async (): Promise<void> => {
    await sending;
    sending = send(sizes.parts, Buffer.concat(pieces));
    sending.catch(() => undefined);
    sizes.parts += 1;
    pieces = [];
    filled = 0;
  };
  const add = async (piece: Uint8Array): Promise<void> => {
    pieces.push(piece);
    filled += piece.length;
    sizes.bytes += piece.length;
    if (filled >= PART_BYTES) await flush();
  };
  return {
    add,
    async addFile(path: string, text: string): Promise<void> {
      const content = new TextEncoder().encode(text);
      await add(tarHeader({ path, size: content.length, folder: false }));
      await add(content);
      await add(tarPadding(content.length));
    },
    async finish() {
      await flush();
      await sending;
      return sizes;
    },
  };
}

/**
 * Postgres has handed all of it over by now. It is not enough that the archive has segments of these names: they may be those of
 * another copy of this database. While ours are not acknowledged, or an earlier one is in conflict, they wait.
 */
export async function awaitLog(
  { store, cluster, signal }: Pick<BaseDeps, 'cluster' | 'signal'> & { store: Pick<ArchiveStore, 'has'> },
  keyOf: (number: number) => string,
  { first, last }: { first: number; last: number },
): Promise<void> {
  const deadline = performance.now() + LOG_WAIT_MS;
  const waits = (file: string): boolean =>
    file.endsWith('.ready') && (parseSegment(file.slice(0, -'.ready'.length))?.number ?? last + 1) <= last;
  while ((await readdir(join(cluster, 'pg_wal/archive_status'))).some(waits)) {
    signal?.throwIfAborted();
    if (performance.now() > deadline)
      throw new Error('the log of the base backup was not archived in time: see wal_archive in /readyz');
    await sleep(LOG_POLL_MS, signal);
  }
  for (let number = first; number <= last; number += 1)
    if (!(await store.has(keyOf(number)))) throw new Error('the log of the base backup was given up');
}
