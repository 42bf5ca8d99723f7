// Moves a service to another database and, where it differs, to another store. The objects go first, while the service runs; then
// the source is closed for changes, and the rows and the last objects follow. A move that was cut off can be run again.

import { isDeepStrictEqual } from 'node:util';
import { hasWorkspaces } from '../access/index.ts';
import type { Progress } from '../core/progress.ts';
import { BACKUP_LOCK, OBJECT_KEYS, REBUILT_TABLES, readIdentity } from '../documents/index.ts';
import type { Reserved, Sql, Transaction } from '../infra/postgres/client.ts';
import { copyOut, withConnection } from '../infra/postgres/copy.ts';
import { exclusively, type Lease } from '../infra/postgres/exclusive.ts';
import { copyOutStatement, quoteName, readSequences, readTables } from '../infra/postgres/tables.ts';
import type { Transfer } from '../infra/s3/transfer.ts';
import { readLines } from './files.ts';
import { BackupRefused } from './folder.ts';
import { closeGate, isGateClosed, openGate } from './gate.ts';
import { loadRows } from './load.ts';
import { copyObjects } from './objects.ts';

type MoveDeps = {
  source: { sql: Sql; store: Transfer };
  /** The database has the schema of this version. `store`: undefined where the store stays the same. */
  target: { sql: Sql; store: Transfer | undefined };
  /** Waits until the accepted events are stored. */
  awaitEvents(): Promise<unknown>;
  progress: Progress;
};

const NOT_EMPTY = 'the target is not empty: its database has a workspace; name a new one';
const OUTDATED =
  'the target has what an earlier move brought, and since then it or the source has changed: if the service runs on the target, ' +
  'nothing is to be done; otherwise name one that is empty';

/**
 * Resolves when the target has everything, compared by counts and checksums of the rows. The source refuses changes from then on,
 * so that none is lost until the service is started with the settings of the target. Where it throws, the source takes
 * changes again; where its process is killed, `openGate` makes it so.
 */
export async function moveService(deps: MoveDeps) {
  const { source, target } = deps;
  const isUsed = await hasWorkspaces(target.sql);
  const isMoved = isUsed && (await readIdentity(source.sql)) === (await readIdentity(target.sql));
  if (isUsed && !isMoved) throw new BackupRefused(NOT_EMPTY);
  await refuseOtherSchema(source.sql, target.sql);
  const moved = await exclusively(source.sql, BACKUP_LOCK, async (lease) =>
    isMoved ? await confirmMoved(deps, lease) : await moveInSteps(deps, lease),
  );
  if (moved === 'held') throw new BackupRefused('a backup or another move of this database is running');
  return moved;
}

async function moveInSteps(deps: MoveDeps, lease: Lease) {
  const { source, target, progress } = deps;
  // 1. Most objects, while changes go on.
  const ahead = await withConnection(source.sql, (connection) => copyMissing(deps, { connection, lease }));
  // 2. What was accepted goes into the source while it takes changes.
  await deps.awaitEvents();
  // 3. The source is closed for changes: the rows, and the last objects.
  progress.note('the service is read-only from now on');
  const closedAt = performance.now();
  try {
    return await withConnection(source.sql, async (connection) => {
      await closeGate(connection, lease.connection);
      await connection`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`;
      await connection`SET LOCAL idle_in_transaction_session_timeout = 0`;
      const tables = await readTables(connection, REBUILT_TABLES);
      const counts = { rows: 0, objects: 0, objects_copied_last: 0, missing_objects: 0 };
      await loadRows(target.sql, {
        tables,
        rows: (table) => copyOut(connection, copyOutStatement(table)),
        async beforeCommit(loaded) {
          const rows = await countSameRows(connection, loaded);
          if (rows === undefined) throw new Error('the rows did not arrive as they were sent');
          const last = await copyMissing(deps, { connection, lease });
          Object.assign(counts, { rows, objects: last.total, objects_copied_last: last.count });
          counts.missing_objects = last.missing.length;
          lease.assert();
          return await readSequences(connection);
        },
        notEmpty: NOT_EMPTY,
        progress,
      });
      return {
        tables: tables.length,
        ...counts,
        objects_copied: ahead.count + counts.objects_copied_last,
        /** For how long the source had been closed when the target was complete. It stays closed. */
        read_only_seconds: Math.round((performance.now() - closedAt) / 100) / 10,
      };
    });
  } catch (error) {
    await openGate(source.sql).catch(() =>
      progress.note('the service is still read-only: move cancel ends that'),
    );
    throw error;
  }
}

/**
 * The report of a move that was complete when its process was killed. A target that has changed since, or whose source takes changes
 * again, is refused: to start the service with it would lose what came after the move.
 */
async function confirmMoved(deps: MoveDeps, lease: Lease): ReturnType<typeof moveInSteps> {
  const { source, target } = deps;
  if (!(await isGateClosed(source.sql))) throw new BackupRefused(OUTDATED);
  return await withConnection(source.sql, async (connection) => {
    const rows = await withConnection(target.sql, (loaded) => countSameRows(connection, loaded));
    if (rows === undefined) throw new BackupRefused(OUTDATED);
    const tables = await readTables(connection, REBUILT_TABLES);
    const { total, count, missing } = await copyMissing(deps, { connection, lease });
    return {
      tables: tables.length,
      rows,
      objects: total,
      objects_copied: count,
      objects_copied_last: count,
      missing_objects: missing.length,
      read_only_seconds: 0,
    };
  });
}

/** Copies the objects of documents that the target lacks. */
async function copyMissing(
  { source, target, progress }: MoveDeps,
  { connection, lease }: { connection: Reserved; lease: Lease },
) {
  const { store } = target;
  const keys = await readLines(copyOut(connection, `COPY (${OBJECT_KEYS}) TO STDOUT`));
  if (store === undefined) return { total: keys.length, count: 0, missing: [] };
  const present = new Set<string>();
  for await (const page of store.list()) for (const { key } of page) present.add(key);
  const absent = keys.filter((key) => !present.has(key));
  const copied = await copyObjects(absent, { from: source.store, save: store.put, lease, progress });
  return { total: keys.length, ...copied };
}

/** The number of all rows, or undefined if those of a table differ. Each server reads its own at the same time. */
async function countSameRows(source: Transaction, target: Transaction): Promise<number | undefined> {
  const [from, to] = await Promise.all([describeRows(source), describeRows(target)]);
  return isDeepStrictEqual(from, to) ? from.reduce((sum, { rows }) => sum + rows, 0) : undefined;
}

/** The text of a value is the same in all versions of the server. */
async function describeRows(sql: Transaction): Promise<{ rows: number; digest: string }[]> {
  const described: { rows: number; digest: string }[] = [];
  for (const { name } of await readTables(sql, REBUILT_TABLES)) {
    const [row] = await sql.unsafe<[{ rows: number; digest: string }]>(
      `SELECT count(*) AS rows, coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)::text AS digest
       FROM ${quoteName(name)} t`,
    );
    described.push(row);
  }
  return described;
}

/** Rows are loaded into the schema that they were in. */
async function refuseOtherSchema(source: Sql, target: Sql): Promise<void> {
  const read = (sql: Sql) => sql<{ checksum: string }[]>`SELECT checksum FROM schema_migrations ORDER BY id`;
  if (!isDeepStrictEqual([...(await read(source))], [...(await read(target))]))
    throw new BackupRefused(
      'the schema of the target differs: use the same version for both, and upgrade the source first',
    );
}
