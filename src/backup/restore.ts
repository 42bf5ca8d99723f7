// Restores a backup into an empty service. The rows are loaded in one transaction, which goes last: a restore that was cut off
// leaves an empty database, and some objects, which the next one finds.

import { join } from 'node:path';
import type { Progress } from '../core/progress.ts';
import type { Sql, Transaction } from '../infra/postgres/client.ts';
import { quoteName } from '../infra/postgres/tables.ts';
import type { ListedObject } from '../infra/s3/client.ts';
import type { Transfer } from '../infra/s3/transfer.ts';
import { readRows } from './files.ts';
import { loadRows } from './load.ts';
import {
  BackupRefused,
  lockFolder,
  type Manifest,
  requireManifest,
  rowsFolder,
  tableFile,
  workingSetPath,
} from './manifest.ts';
import { startPuttingObjects } from './put-objects.ts';
import { checkBackup } from './verify.ts';
import { openWorkingSet, type WorkingSet } from './working-set.ts';

export type RestoreDeps = {
  /** The migrations that this version knows, in their order. */
  migrations: Manifest['migrations'];
  /** Connects to the database, with the schema up to a migration. */
  connect(migration: number): Promise<Sql>;
  /** Applies the other migrations. */
  upgrade(sql: Sql): Promise<void>;
  /** Whether a service has used the database. */
  isUsed(sql: Transaction): Promise<boolean>;
  /** Tables that the service makes anew by itself. */
  rebuilt: readonly string[];
  transfer: Pick<Transfer, 'put'>;
  list(): AsyncIterable<ListedObject[]>;
  /** Whether an object of the bucket is a mark of a database; and the mark of the one that owns the bucket. */
  isMark(key: string): boolean;
  ownerMark(identity: string): string;
  progress: Progress;
};

export type RestoreReport = {
  taken_at: string;
  tables: number;
  rows: number;
  objects: number;
  bytes: number;
  missing_objects: number;
};

/**
 * Verifies the backup first; then nothing of it is written unless all of it is as it was written. Throws `BackupRefused` for a
 * backup that is damaged or needs a newer version, and for a service that is not empty.
 */
export async function restoreBackup(directory: string, deps: RestoreDeps): Promise<RestoreReport> {
  const manifest = requireManifest(directory);
  refuseUnknownSchema(manifest, deps.migrations);
  const assertEmpty = async (sql: Transaction): Promise<void> => {
    if (await deps.isUsed(sql)) throw notEmpty('the database has a workspace');
  };
  const sql = await deps.connect(manifest.migrations.length);
  const lock = lockFolder(directory);
  const set = openWorkingSet(workingSetPath(directory));
  try {
    await refuseNewerSchema(sql, manifest);
    await assertEmpty(sql);
    const { report, faults } = await checkBackup(directory, { manifest, set, progress: deps.progress });
    if (report.faults > 0)
      throw new BackupRefused(`the backup is damaged (${report.faults} faults): ${faults.join('; ')}`);
    await settlePresent(manifest, deps, set);
    const { tables, sequences } = manifest;
    // At the same time, because one takes the store and the other the database; the rows are committed when all objects are there.
    await using objects = startPuttingObjects(directory, deps, set);
    await loadRows(sql, {
      tables,
      sequences,
      rebuilt: deps.rebuilt,
      rows: ({ name }) => readRows(join(rowsFolder(directory, manifest), tableFile(name))),
      check: ({ name }, connection) => checkCount(connection, tables, name),
      assertEmpty,
      beforeCommit: () => objects.done,
      progress: deps.progress,
    });
    await deps.upgrade(sql);
    return {
      taken_at: report.taken_at,
      tables: tables.length,
      rows: report.rows,
      objects: report.objects,
      bytes: report.bytes,
      missing_objects: manifest.missing_objects.length,
    };
  } finally {
    set.close();
    lock.release();
    await sql.end();
  }
}

async function checkCount(sql: Transaction, tables: Manifest['tables'], name: string): Promise<void> {
  const [row] = await sql.unsafe<{ rows: number }[]>(`SELECT count(*) AS rows FROM ${quoteName(name)}`);
  const expected = tables.find((table) => table.name === name)?.rows;
  if (row?.rows !== expected)
    throw new Error(`${row?.rows} rows of ${name} arrived, and the backup has ${expected}`);
}

const notEmpty = (reason: string): BackupRefused =>
  new BackupRefused(
    `the service is not empty: ${reason}; restore into a new DATA_DIR, or into a new database and a new bucket`,
  );

function refuseUnknownSchema(manifest: Manifest, known: Manifest['migrations']): void {
  const last = manifest.migrations.at(-1);
  if (manifest.migrations.length > known.length)
    throw new BackupRefused(
      `the backup is of a newer version (${manifest.atrium}, schema ${last?.name}): use that version to restore it`,
    );
  for (const [index, { name, checksum }] of manifest.migrations.entries()) {
    if (known[index]?.checksum !== checksum)
      throw new BackupRefused(`the backup has the migration ${name}, which this version does not have`);
  }
}

/** Rows are loaded into the schema that they were in; the migrations that follow may change them. */
async function refuseNewerSchema(sql: Sql, { migrations }: Manifest): Promise<void> {
  const [row] = await sql<{ applied: number }[]>`SELECT count(*) AS applied FROM schema_migrations`;
  if ((row?.applied ?? 0) <= migrations.length) return;
  throw new BackupRefused(
    'the schema of the database is newer than that of the backup: restore into a database on which no service has started',
  );
}

/**
 * Some objects may be there: of an earlier restore, which was cut off, or because the bucket has outlived its database. Only the
 * bucket of this very database may have others, too.
 */
async function settlePresent(manifest: Manifest, deps: RestoreDeps, set: WorkingSet): Promise<void> {
  const own = deps.ownerMark(manifest.database);
  let isOwn = false;
  let other: string | undefined;
  for await (const page of deps.list()) {
    for (const { key, size } of page) {
      isOwn ||= key === own;
      if (set.isNeeded(key)) set.settle(key, size);
      else if (!deps.isMark(key)) other ??= key;
    }
  }
  if (other !== undefined && !isOwn)
    throw notEmpty(`the bucket has objects that the backup does not have, such as ${other}`);
}
