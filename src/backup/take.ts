// Takes a backup of one moment, while the service runs: the rows of a snapshot of the database, and the objects of its
// documents. An object never changes under its key, and none is deleted while a backup runs (purges and the sweeper check
// `BACKUP_LOCK`), so that the objects may be copied after the snapshot.

import { version } from '../../package.json';
import { makeFolder, syncFolder } from '../core/durable.ts';
import { newRandomId } from '../core/ids.ts';
import { lowerPriorityOf } from '../core/priority.ts';
import type { Progress } from '../core/progress.ts';
import { BACKUP_LOCK, OBJECT_KEYS, REBUILT_TABLES, readIdentity } from '../documents/index.ts';
import type { Sql } from '../infra/postgres/client.ts';
import { copyOut, withConnection } from '../infra/postgres/copy.ts';
import { exclusively } from '../infra/postgres/exclusive.ts';
import { copyOutStatement, readSequences, readTables } from '../infra/postgres/tables.ts';
import type { Transfer } from '../infra/s3/transfer.ts';
import { writeRows } from './files.ts';
import { type BackupFolder, BackupRefused, type Manifest, openFolder, readManifest } from './folder.ts';
import { copyObjects, nameOf } from './objects.ts';

/** Requests of a service on the same machine go first. */
export const NICENESS = 10;

type BackupDeps = {
  sql: Sql;
  store: Transfer;
  /** Whether the server of the database runs on this machine, for this service alone. */
  embedded: boolean;
  /** Waits until the accepted events are stored; returns how many batches are not, null where that is not known. */
  awaitEvents(): Promise<number | null>;
  progress: Progress;
};

/**
 * Brings the backup in the folder to this moment. Killed anywhere, it leaves the backup before as it was, and the next one uses
 * the objects that were copied. Throws `BackupRefused`, and where a server is unavailable.
 */
export async function takeBackup(directory: string, deps: BackupDeps) {
  using folder = openFolder(directory);
  const { sql, store, progress } = deps;
  const former = readManifest(directory);
  const database = await readIdentity(sql);
  if (former !== undefined && former.database !== database)
    throw new BackupRefused(`${directory} holds a backup of another database: name a folder of its own`);
  folder.removeOtherRows(former?.id);
  const { objects } = folder;
  const unneeded = objects.names();
  const taken = await exclusively(sql, BACKUP_LOCK, async (lease) => {
    // 1. What was accepted before this moment is in the database, or is counted.
    const waiting = await deps.awaitEvents();
    // 2. All rows of one snapshot. No object is deleted from now on.
    const rows = await copyRows(folder, deps);
    // 3. The objects that its documents have and that the folder lacks.
    const keys = (await folder.keys(rows.id)).filter((key) => !unneeded.delete(nameOf(key)));
    const copied = await copyObjects(keys, { from: store, save: objects.save, lease, progress });
    lease.assert();
    return { rows, waiting, copied };
  });
  if (taken === 'held') throw new BackupRefused('another backup of this database is running');
  const { rows, waiting, copied } = taken;
  const { missing } = copied;
  // 4. Once all files of the new manifest are on the disk, it replaces the former one. Then files that it does not name are deleted.
  await syncFolder(folder.rows(rows.id));
  await objects.sync();
  const about = { atrium: version, database, missing_objects: missing.sort(), events_waiting: waiting };
  folder.writeManifest({ ...rows, ...about });
  folder.removeOtherRows(rows.id);
  for (const name of unneeded) await objects.remove(name);
  return {
    taken_at: rows.taken_at,
    tables: rows.tables.length,
    rows: rows.tables.reduce((sum, table) => sum + table.rows, 0),
    objects: rows.objects.rows - missing.length,
    objects_copied: copied.count,
    bytes_copied: copied.bytes,
    missing_objects: missing.length,
    events_waiting: waiting,
  };
}

async function copyRows(folder: BackupFolder, { sql, embedded, progress }: BackupDeps) {
  const id = newRandomId();
  makeFolder(folder.rows(id));
  return await withConnection(sql, async (connection) => {
    await connection`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`;
    // The disk of the folder may be slow between two tables.
    await connection`SET LOCAL idle_in_transaction_session_timeout = 0`;
    const [{ pid, taken_at, postgres }] = await connection<
      [{ pid: number; taken_at: Date; postgres: string }]
    >`
      SELECT pg_backend_pid() AS pid, clock_timestamp() AS taken_at, current_setting('server_version') AS postgres`;
    if (embedded) lowerPriorityOf(pid, 'postgres', NICENESS);
    const migrations = await connection<Manifest['migrations']>`
      SELECT id, name, checksum FROM schema_migrations ORDER BY id`;
    const tables: Manifest['tables'] = [];
    for (const table of await readTables(connection, REBUILT_TABLES)) {
      const { name, columns } = table;
      progress.step(() => `copying ${name}`);
      const rows = copyOut(connection, copyOutStatement(table));
      tables.push({ name, columns, ...(await writeRows(folder.table(id, name), rows)) });
    }
    const keys = copyOut(connection, `COPY (${OBJECT_KEYS}) TO STDOUT`);
    const objects = await writeRows(folder.list(id), keys);
    const sequences = [...(await readSequences(connection))];
    await connection`COMMIT`;
    const moment = taken_at.toISOString();
    return { id, taken_at: moment, postgres, migrations: [...migrations], tables, sequences, objects };
  });
}
