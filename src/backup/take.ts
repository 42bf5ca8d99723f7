// Takes a backup of one moment, while the service runs: the rows of a snapshot of the database, and the objects of its
// documents. An object never changes under its key, and none is deleted while a backup runs (the purges and the sweeper look
// for `BACKUP_LOCK`), so that the objects may be copied after the snapshot.

import { join } from 'node:path';
import { makeFolder, syncFolder } from '../core/durable.ts';
import { newRandomId } from '../core/ids.ts';
import type { Progress } from '../core/progress.ts';
import type { Reserved, Sql } from '../infra/postgres/client.ts';
import { copyOut } from '../infra/postgres/copy.ts';
import { exclusively, type Lease } from '../infra/postgres/exclusive.ts';
import { copyOutStatement, readSequences, readTables } from '../infra/postgres/tables.ts';
import { type ObjectReader, wholeOf } from '../infra/s3/transfer.ts';
import { readLines, writeRows } from './files.ts';
import { OBJECTS_AT_ONCE, SMALL_OBJECT_BYTES } from './limits.ts';
import {
  BackupRefused,
  lockFolder,
  type Manifest,
  OBJECT_LIST,
  packsFolder,
  readManifest,
  removeOtherRows,
  rowsFolder,
  tableFile,
  workingSetPath,
  writeManifest,
} from './manifest.ts';
import { createPackWriter, listPacks, readPack, removePack } from './packs.ts';
import { rewritePacks } from './rewrite.ts';
import { openWorkingSet, type WorkingSet } from './working-set.ts';

export type BackupDeps = {
  sql: Sql;
  objects: ObjectReader;
  /** The name of the lease that holds back the deletion of objects. */
  lock: string;
  /** A SELECT of the keys of the objects that documents have. */
  objectKeys: string;
  /** Tables that the service makes anew by itself. */
  rebuilt: readonly string[];
  identity(): Promise<string>;
  /** Told which process of the server reads the rows. */
  onReading?(pid: number): void;
  /** Waits until the events that were accepted are stored; returns how many packs are not, null where that is not known. */
  awaitEvents(): Promise<number | null>;
  /** Of the service. */
  version: string;
  progress: Progress;
};

export type BackupReport = {
  taken_at: string;
  tables: number;
  rows: number;
  objects: number;
  /** Of the objects and the rows' files in the folder. */
  bytes: number;
  objects_copied: number;
  bytes_copied: number;
  missing_objects: number;
  events_waiting: number | null;
};

/**
 * Brings the backup in the folder to this moment. Killed anywhere it leaves the backup before as it was, and the next one uses
 * the objects that were copied. Throws `BackupRefused`, and where a server is away.
 */
export async function takeBackup(directory: string, deps: BackupDeps): Promise<BackupReport> {
  const lock = lockFolder(directory);
  const set = openWorkingSet(workingSetPath(directory));
  try {
    const former = readManifest(directory);
    const identity = await deps.identity();
    if (former !== undefined && former.database !== identity)
      throw new BackupRefused(`${directory} holds a backup of another database: name a folder of its own`);
    removeOtherRows(directory, former);
    for (const id of listPacks(packsFolder(directory))) takeOver(directory, id, { former, set, deps });
    const taken = await exclusively(deps.sql, deps.lock, (lease) =>
      copyAll(directory, { deps, set, identity, lease }),
    );
    if (taken === 'held') throw new BackupRefused('another backup of this database is running');
    const dropped = await rewritePacks(directory, set);
    const manifest = { ...taken.manifest, packs: toPacks(set, dropped) };
    writeManifest(directory, manifest);
    removeOtherRows(directory, manifest);
    for (const id of dropped) removePack(packsFolder(directory), id);
    return { ...summarise(manifest, set), ...taken.copied };
  } finally {
    set.close();
    lock.release();
  }
}

/** The objects of a pack need not be copied again, unless it is damaged. */
function takeOver(
  directory: string,
  id: string,
  { former, set, deps }: { former: Manifest | undefined; set: WorkingSet; deps: BackupDeps },
): void {
  try {
    const { pack, entries } = readPack(packsFolder(directory), id);
    const known = former?.packs.find((each) => each.id === id);
    if (known !== undefined && known.sha256 !== pack.sha256)
      throw new Error(`the index of the pack ${id} does not have its checksum`);
    set.addPack(pack, entries);
  } catch (error) {
    deps.progress.note(`${(error as Error).message}: its objects are copied again`);
    removePack(packsFolder(directory), id);
  }
}

type Copied = { objects_copied: number; bytes_copied: number };

async function copyAll(
  directory: string,
  { deps, set, identity, lease }: { deps: BackupDeps; set: WorkingSet; identity: string; lease: Lease },
): Promise<{ manifest: Omit<Manifest, 'packs'>; copied: Copied }> {
  const id = newRandomId();
  const folder = rowsFolder(directory, { id });
  makeFolder(folder);
  // 1. What was accepted before this moment is in the database, or is counted.
  const waiting = await deps.awaitEvents();
  // 2. All rows of one snapshot. Objects are not deleted from before it on.
  const connection = deps.sql.reserve({ unlimited: true });
  const rows = await copyRows(folder, { connection, deps }).finally(() => connection.release());
  await syncFolder(folder);
  // 3. The objects that its documents have and that the folder lacks.
  await set.addNeeded(readLines(join(folder, OBJECT_LIST)));
  const { missing, ...copied } = await copyObjects(directory, { deps, set, lease });
  lease.assert();
  return {
    manifest: {
      id,
      atrium: deps.version,
      database: identity,
      ...rows,
      missing_objects: missing,
      events_waiting: waiting,
    },
    copied,
  };
}

async function copyRows(folder: string, { connection, deps }: { connection: Reserved; deps: BackupDeps }) {
  await connection`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`;
  // The disk of the folder may take its time between two tables.
  await connection`SET LOCAL idle_in_transaction_session_timeout = 0`;
  const [moment] = await connection<{ taken_at: Date; postgres: string; pid: number }[]>`
    SELECT clock_timestamp() AS taken_at, current_setting('server_version') AS postgres, pg_backend_pid() AS pid`;
  if (moment !== undefined) deps.onReading?.(moment.pid);
  const migrations = await connection<Manifest['migrations']>`
    SELECT id, name, checksum FROM schema_migrations ORDER BY id`;
  const found = await readTables(connection, deps.rebuilt);
  const tables: Manifest['tables'] = [];
  for (const table of found) {
    deps.progress.step(() => `tables: ${tables.length} of ${found.length}`);
    const rows = copyOut(connection, copyOutStatement(table));
    const file = await writeRows(join(folder, tableFile(table.name)), rows);
    tables.push({ name: table.name, columns: table.columns, ...file });
  }
  const keys = copyOut(connection, `COPY (${deps.objectKeys}) TO STDOUT`);
  const objects = await writeRows(join(folder, OBJECT_LIST), keys);
  const sequences = await readSequences(connection);
  await connection`COMMIT`;
  return {
    taken_at: (moment?.taken_at ?? new Date()).toISOString(),
    postgres: moment?.postgres ?? '',
    migrations: [...migrations],
    tables,
    sequences: [...sequences],
    objects,
  };
}

async function copyObjects(
  directory: string,
  { deps, set, lease }: { deps: BackupDeps; set: WorkingSet; lease: Lease },
): Promise<Copied & { missing: string[] }> {
  const copied = { objects_copied: 0, bytes_copied: 0, missing: [] as string[] };
  const total = set.needed();
  const writer = createPackWriter(packsFolder(directory), set.addPack);
  const copyOne = async (key: string): Promise<void> => {
    lease.assert();
    const size = await deps.objects.get(key, async ({ body, ...about }) => {
      const isSmall = about.size <= SMALL_OBJECT_BYTES;
      await writer.add({ key, ...about, body: isSmall ? await wholeOf(body) : body });
      return about.size;
    });
    if (size === undefined) {
      copied.missing.push(key);
      return;
    }
    copied.objects_copied += 1;
    copied.bytes_copied += size;
    deps.progress.step(() => `objects: ${copied.objects_copied} copied, of ${total} in all`);
  };
  try {
    for (const page of set.missing()) {
      const rest = page.values();
      const work = async (): Promise<void> => {
        for (const key of rest) await copyOne(key);
      };
      await Promise.all(Array.from({ length: OBJECTS_AT_ONCE }, work));
    }
    await writer.finish();
  } catch (error) {
    await writer.abandon();
    throw error;
  }
  return copied;
}

const toPacks = (set: WorkingSet, dropped: readonly string[]): Manifest['packs'] =>
  set
    .packs()
    .filter(({ id }) => !dropped.includes(id))
    .map(({ id, bytes, objects, sha256 }) => ({ id, bytes, objects, sha256 }));

function summarise(manifest: Manifest, set: WorkingSet): Omit<BackupReport, keyof Copied> {
  const { tables, packs, objects, missing_objects: missing } = manifest;
  const bytesOf = (files: readonly { bytes: number }[]): number =>
    files.reduce((sum, { bytes }) => sum + bytes, 0);
  return {
    taken_at: manifest.taken_at,
    tables: tables.length,
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    objects: set.needed() - missing.length,
    bytes: bytesOf(tables) + bytesOf(packs) + objects.bytes,
    missing_objects: missing.length,
    events_waiting: manifest.events_waiting,
  };
}
