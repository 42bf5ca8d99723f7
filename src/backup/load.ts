// Loads all rows into an empty database with the same schema, in one transaction.

import type { Progress } from '../core/progress.ts';
import type { Reserved, Sql, Transaction } from '../infra/postgres/client.ts';
import { copyInParts } from '../infra/postgres/copy.ts';
import {
  copyInStatement,
  quoteName,
  readIndexes,
  readTables,
  type Sequence,
  type Table,
} from '../infra/postgres/tables.ts';
import { BackupRefused } from './manifest.ts';

type LoadedTable = Pick<Table, 'name' | 'columns'>;

type LoadDeps<Loaded extends LoadedTable> = {
  /** Each table comes after the tables that its foreign keys name. */
  tables: readonly Loaded[];
  sequences: readonly Sequence[];
  /** Tables that stay empty, because the service makes them anew. */
  rebuilt: readonly string[];
  /** In the text format of COPY. */
  rows(table: Loaded): AsyncIterable<Uint8Array>;
  /** Throws if the rows that arrived differ from the rows that were sent. */
  check(table: Loaded, sql: Transaction): Promise<void>;
  /** Called when everything is loaded, before it is committed. */
  beforeCommit?(): Promise<void>;
  /** Called once nothing else can write. */
  assertEmpty(sql: Transaction): Promise<void>;
  progress: Progress;
};

/**
 * Replaces the rows that the schema was made with. Triggers do not run, because their effects are among the rows, and indexes are
 * made after the rows. Where it throws, nothing has changed.
 */
export async function loadRows<Loaded extends LoadedTable>(sql: Sql, deps: LoadDeps<Loaded>): Promise<void> {
  const connection = sql.reserve({ unlimited: true });
  try {
    await connection`BEGIN`;
    await connection`SET LOCAL idle_in_transaction_session_timeout = 0`;
    await connection`SET LOCAL maintenance_work_mem = '256MB'`;
    await load(connection, deps);
    await deps.beforeCommit?.();
    // Last, because sequences are outside of transactions.
    for (const { name, value, called } of deps.sequences)
      await connection`SELECT setval(${quoteName(name)}::regclass, ${value}::bigint, ${called})`;
    await connection`COMMIT`;
    await connection`ANALYZE`;
  } finally {
    // Rolls back an open transaction.
    connection.release();
  }
}

async function load<Loaded extends LoadedTable>(connection: Reserved, deps: LoadDeps<Loaded>): Promise<void> {
  const { progress } = deps;
  const tables = await readTables(connection);
  const names = tables.map(({ name }) => name);
  refuseOtherTables(
    names.filter((name) => !deps.rebuilt.includes(name)),
    deps.tables,
  );
  const all = names.map(quoteName).join(', ');
  await connection.unsafe(`LOCK TABLE ${all} IN ACCESS EXCLUSIVE MODE`);
  await deps.assertEmpty(connection);
  await connection.unsafe(`TRUNCATE ${all}`);
  const indexes = await readIndexes(connection, names);
  for (const { name } of indexes) await connection.unsafe(`DROP INDEX ${name}`);
  for (const table of deps.tables) {
    progress.step(() => `loading ${table.name}`);
    const name = quoteName(table.name);
    await connection.unsafe(`ALTER TABLE ${name} DISABLE TRIGGER USER`);
    await copyInParts(connection, copyInStatement(table), deps.rows(table));
    await deps.check(table, connection);
    await connection.unsafe(`ALTER TABLE ${name} ENABLE TRIGGER USER`);
  }
  for (const { name, definition } of indexes) {
    progress.step(() => `making the index ${name}`);
    await connection.unsafe(definition);
  }
}

function refuseOtherTables(names: readonly string[], tables: readonly LoadedTable[]): void {
  const saved = new Set(tables.map(({ name }) => name));
  const differing = [
    ...names.filter((name) => !saved.has(name)),
    ...[...saved].filter((name) => !names.includes(name)),
  ];
  if (differing.length > 0)
    throw new BackupRefused(
      `the tables of the database are not those that are to be loaded: ${differing.join(', ')}`,
    );
}
