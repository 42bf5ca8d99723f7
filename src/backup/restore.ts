// Restores a backup into an empty service: first the objects, then the rows in one transaction. A restore that was cut off leaves
// an empty database and some objects, which the next one finds.

import { hasWorkspaces } from '../access/index.ts';
import type { Progress } from '../core/progress.ts';
import { MARKS, ownerMark } from '../documents/index.ts';
import type { Sql } from '../infra/postgres/client.ts';
import type { Transfer } from '../infra/s3/transfer.ts';
import { readRows } from './files.ts';
import { type BackupFolder, BackupRefused, type Manifest, openFolder, requireManifest } from './folder.ts';
import { loadRows } from './load.ts';
import { eachAtOnce } from './objects.ts';
import { checkBackup } from './verify.ts';

type RestoreDeps = {
  /** The migrations that this version knows, in their order. */
  migrations: Manifest['migrations'];
  /** Connects to the database, with the schema up to a migration. */
  connect(migration: number): Promise<Sql>;
  store: Transfer;
  progress: Progress;
};

const ELSEWHERE = 'restore into a new DATA_DIR, or into a new database and a new bucket';
const NOT_EMPTY = `the service is not empty: the database has a workspace; ${ELSEWHERE}`;

/**
 * Verifies the backup first; then nothing of it is written unless all of it is as it was written. The schema is that of the backup
 * afterwards. Throws `BackupRefused` for a backup that is damaged or needs a newer version, and for a service that is not empty.
 */
export async function restoreBackup(directory: string, deps: RestoreDeps) {
  const manifest = requireManifest(directory);
  refuseUnknownSchema(manifest, deps.migrations);
  const { progress } = deps;
  const { id, sequences } = manifest;
  const sql = await deps.connect(manifest.migrations.length);
  try {
    using folder = openFolder(directory);
    await refuseNewerSchema(sql, manifest);
    if (await hasWorkspaces(sql)) throw new BackupRefused(NOT_EMPTY);
    const { report, faults } = await checkBackup(folder, manifest, progress);
    if (report.faults > 0)
      throw new BackupRefused(`the backup is damaged (${report.faults} faults): ${faults.join('; ')}`);
    await putObjects(folder, manifest, deps);
    await loadRows(sql, {
      tables: manifest.tables,
      rows: ({ name }) => readRows(folder.table(id, name)),
      beforeCommit: async () => sequences,
      notEmpty: NOT_EMPTY,
      progress,
    });
    const { taken_at, tables, rows, objects, bytes } = report;
    return { taken_at, tables, rows, objects, bytes, missing_objects: manifest.missing_objects.length };
  } finally {
    await sql.end();
  }
}

/**
 * Some objects may be in the bucket already: those of an earlier restore, which was cut off, or all if only the database was lost.
 * No other objects may be in it, unless it is the bucket of this very database.
 */
async function putObjects(
  { objects, keys }: BackupFolder,
  manifest: Manifest,
  { store, progress }: RestoreDeps,
): Promise<void> {
  const missing = new Set(manifest.missing_objects);
  const left = new Set(await keys(manifest.id)).difference(missing);
  const own = ownerMark(manifest.database);
  let isOwn = false;
  let other: string | undefined;
  for await (const page of store.list()) {
    for (const { key, size } of page) {
      isOwn ||= key === own;
      if (!left.has(key) && !missing.has(key) && !key.startsWith(MARKS)) other ??= key;
      else if (left.has(key) && (await objects.size(key)) === size) left.delete(key);
    }
  }
  if (other !== undefined && !isOwn)
    throw new BackupRefused(
      `the service is not empty: the bucket has objects that the backup does not have, such as ${other}; ${ELSEWHERE}`,
    );
  const total = left.size;
  await eachAtOnce(left, async (key) => {
    await objects.put(key, store);
    left.delete(key);
    progress.step(() => `objects: ${total - left.size} of ${total} written`);
  });
}

function refuseUnknownSchema({ migrations, atrium }: Manifest, known: Manifest['migrations']): void {
  if (migrations.length > known.length)
    throw new BackupRefused(
      `the backup is of a newer version (${atrium}, schema ${migrations.at(-1)?.name}): use that version to restore it`,
    );
  const unknown = migrations.find(({ checksum }, index) => known[index]?.checksum !== checksum);
  if (unknown !== undefined)
    throw new BackupRefused(`the backup has the migration ${unknown.name}, which this version does not have`);
}

/** Rows are loaded into the schema that they were in; the migrations that follow may change them. */
async function refuseNewerSchema(sql: Sql, { migrations }: Manifest): Promise<void> {
  const [{ applied }] = await sql<[{ applied: number }]>`SELECT count(*) AS applied FROM schema_migrations`;
  if (applied > migrations.length)
    throw new BackupRefused(
      'the schema of the database is newer than that of the backup: restore into a database on which no service has started',
    );
}
