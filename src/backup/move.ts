// Moves a service to another database and, where it differs, to another store. The objects go first, while the service runs;
// then the source is closed for changes, and the rows and the last objects follow. Cut off anywhere it can be run again.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Progress } from '../core/progress.ts';
import type { Reserved, Sql, Transaction } from '../infra/postgres/client.ts';
import { copyOut } from '../infra/postgres/copy.ts';
import { exclusively } from '../infra/postgres/exclusive.ts';
import { copyOutStatement, quoteName, readSequences, readTables } from '../infra/postgres/tables.ts';
import type { ObjectReader } from '../infra/s3/transfer.ts';
import { type Copying, copyObjects, type TargetObjects } from './copy-objects.ts';
import { linesOf } from './files.ts';
import { closeGate, isGateClosed, openGate } from './gate.ts';
import { loadRows } from './load.ts';
import { BackupRefused } from './manifest.ts';

export type MoveDeps = {
  source: { sql: Sql; objects: ObjectReader };
  /** The database is connected to with the schema of this version. */
  target: { sql: Sql; objects: TargetObjects };
  /** As for a backup. */
  lock: string;
  objectKeys: string;
  rebuilt: readonly string[];
  /** Whether a service has used the database; and which one. */
  isUsed(sql: Transaction): Promise<boolean>;
  identity(sql: Sql): Promise<string>;
  /** Waits until the events that were accepted are stored; returns how many packs are not, null where that is not known. */
  awaitEvents(): Promise<number | null>;
  progress: Progress;
};

export type MoveReport = {
  tables: number;
  rows: number;
  objects: number;
  objects_copied: number;
  /** Those of them that were copied while the source was closed for changes. */
  objects_copied_last: number;
  missing_objects: number;
  /** For how long the source had been closed for changes when the target was complete. It stays closed. */
  read_only_seconds: number;
};

/**
 * Resolves when the target has everything, compared by counts and checksums of the rows. The source refuses changes from then on,
 * so that none is lost until the service is started with the settings of the target. Where it throws, the source takes
 * changes again; where its process is killed, `openGate` makes it so.
 */
export async function moveService(deps: MoveDeps): Promise<MoveReport> {
  const { source, target } = deps;
  const assertEmpty = async (sql: Transaction): Promise<void> => {
    if (await deps.isUsed(sql))
      throw new BackupRefused('the target is not empty: its database has a workspace; name a new one');
  };
  const isMoved =
    (await deps.isUsed(target.sql)) &&
    (await deps.identity(source.sql)) === (await deps.identity(target.sql));
  if (!isMoved) await assertEmpty(target.sql);
  await refuseOtherSchema(source.sql, target.sql);
  const folder = await mkdtemp(join(tmpdir(), 'atrium-move-'));
  const copied = { count: 0, missing: 0 };
  try {
    const moved = await exclusively(source.sql, deps.lock, async (lease) => {
      if (isMoved) return await confirmMoved(deps, { lease, folder, copied });
      // 1. Most objects, while changes go on.
      await copyObjects(deps, { lease, folder, copied, keys: () => keysOf(source.sql, deps.objectKeys) });
      const ahead = copied.count;
      // 2. What was accepted goes into the source while it takes changes.
      await deps.awaitEvents();
      // 3. The last step.
      const closedAt = performance.now();
      const last = await moveRows(deps, { lease, folder, copied, assertEmpty });
      return {
        ...last,
        objects_copied: copied.count,
        objects_copied_last: copied.count - ahead,
        missing_objects: copied.missing,
        read_only_seconds: Math.round((performance.now() - closedAt) / 100) / 10,
      };
    });
    if (moved === 'held') throw new BackupRefused('a backup or another move of this database is running');
    return moved;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/**
 * The report of a move that was complete when its process was killed. A target that has changed since, or whose source takes changes
 * again, is refused: to start the service with it would lose what came after the move.
 */
async function confirmMoved(deps: MoveDeps, parts: Copying): Promise<MoveReport> {
  const { source, target } = deps;
  if (!(await isGateClosed(source.sql))) throw new BackupRefused(OUTDATED);
  const [from, to] = [source.sql, target.sql].map((sql) => sql.reserve({ unlimited: true })) as [
    Reserved,
    Reserved,
  ];
  try {
    const tables = await readTables(from, deps.rebuilt);
    let rows = 0;
    for (const { name } of tables) {
      const [there, here] = await Promise.all([describe(from, name), describe(to, name)]);
      if (there.rows !== here.rows || there.digest !== here.digest) throw new BackupRefused(OUTDATED);
      rows += there.rows;
    }
    const objects = await copyObjects(deps, { ...parts, keys: () => keysOf(from, deps.objectKeys) });
    const { count, missing } = parts.copied;
    const copied = { objects_copied: count, objects_copied_last: count, missing_objects: missing };
    return { tables: tables.length, rows, objects, ...copied, read_only_seconds: 0 };
  } finally {
    from.release();
    to.release();
  }
}

const OUTDATED =
  'the target has what an earlier move brought, and since then it or the source has changed: if the service runs on the target, ' +
  'nothing is to be done; otherwise name one that is empty';

async function moveRows(
  deps: MoveDeps,
  parts: Copying & { assertEmpty(sql: Transaction): Promise<void> },
): Promise<Pick<MoveReport, 'tables' | 'rows' | 'objects'>> {
  const { source, target, progress } = deps;
  const connection = source.sql.reserve({ unlimited: true });
  try {
    progress.note('the service is read-only from now on');
    await closeGate(connection, parts.lease.connection);
    await connection`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`;
    await connection`SET LOCAL idle_in_transaction_session_timeout = 0`;
    const tables = await readTables(connection, deps.rebuilt);
    const sum = { rows: 0, objects: 0 };
    await loadRows(target.sql, {
      tables,
      sequences: await readSequences(connection),
      rebuilt: deps.rebuilt,
      rows: (table) => copyOut(connection, copyOutStatement(table)),
      check: async ({ name }, loaded) => {
        // Each server reads its own at the same time.
        const [sent, arrived] = await Promise.all([describe(connection, name), describe(loaded, name)]);
        if (sent.rows !== arrived.rows || sent.digest !== arrived.digest)
          throw new Error(`the rows of ${name} did not arrive as they were sent`);
        sum.rows += sent.rows;
      },
      assertEmpty: parts.assertEmpty,
      async beforeCommit() {
        parts.copied.missing = 0;
        sum.objects = await copyObjects(deps, { ...parts, keys: () => keysOf(connection, deps.objectKeys) });
        parts.lease.assert();
      },
      progress,
    });
    return { tables: tables.length, ...sum };
  } catch (error) {
    await openGate(source.sql).catch(() =>
      progress.note('the service is still read-only: move cancel ends that'),
    );
    throw error;
  } finally {
    connection.release();
  }
}

/** The text of a value is the same in all versions of the server. */
async function describe(sql: Transaction, table: string): Promise<{ rows: number; digest: string }> {
  const [row] = await sql.unsafe<{ rows: number; digest: string }[]>(
    `SELECT count(*) AS rows, coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)::text AS digest
     FROM ${quoteName(table)} t`,
  );
  return row ?? { rows: 0, digest: '' };
}

/** Rows are loaded into the schema that they were in. */
async function refuseOtherSchema(source: Sql, target: Sql): Promise<void> {
  const read = async (sql: Sql): Promise<string> => {
    const [row] = await sql<
      { all: string }[]
    >`SELECT string_agg(checksum, ' ' ORDER BY id) AS all FROM schema_migrations`;
    return row?.all ?? '';
  };
  if ((await read(source)) === (await read(target))) return;
  throw new BackupRefused(
    'the schema of the target differs: use the same version for both, and upgrade the source first',
  );
}

async function* keysOf(connection: Sql | Reserved, objectKeys: string): AsyncGenerator<string> {
  const own = 'reserve' in connection ? connection.reserve({ unlimited: true }) : undefined;
  try {
    yield* linesOf(copyOut(own ?? (connection as Reserved), `COPY (${objectKeys}) TO STDOUT`));
  } finally {
    own?.release();
  }
}
