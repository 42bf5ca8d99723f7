// Loads all rows into an empty database with the same schema, in one transaction.

import { hasWorkspaces } from '../access/index.ts';
import type { Progress } from '../core/progress.ts';
import { REBUILT_TABLES } from '../documents/index.ts';
import type { Reserved, Sql } from '../infra/postgres/client.ts';
import { copyInParts, withConnection } from '../infra/postgres/copy.ts';
import {
  copyInStatement,
  quoteName,
  readIndexes,
  readTables,
  type Sequence,
  type Table,
} from '../infra/postgres/tables.ts';
import { BackupRefused } from './folder.ts';

/**
 * Replaces the rows that the schema was made with. Triggers do not run, because their effects are among the rows, and indexes are
 * made after the rows. Where it throws, nothing has changed: `BackupRefused(notEmpty)` for a database that a service has used.
 */
export async function loadRows<Loaded extends Pick<Table, 'name' | 'columns'>>(
  sql: Sql,
  {
    tables,
    rows,
    beforeCommit,
    notEmpty,
    progress,
  }: {
    /** Each table comes after the tables that its foreign keys name. */
    tables: readonly Loaded[];
    /** The rows in the text format of COPY. */
    rows(table: Loaded): AsyncIterable<Uint8Array>;
    /** Returns the sequences. */
    beforeCommit(connection: Reserved): Promise<readonly Sequence[]>;
    notEmpty: string;
    progress: Progress;
  },
): Promise<void> {
  await withConnection(sql, async (connection) => {
    await connection`BEGIN`;
    await connection`SET LOCAL idle_in_transaction_session_timeout = 0`;
    await connection`SET LOCAL maintenance_work_mem = '256MB'`;
    const names = (await readTables(connection)).map(({ name }) => name);
    refuseOtherTables(names, tables);
    const all = names.map(quoteName).join(', ');
    await connection.unsafe(`LOCK TABLE ${all} IN ACCESS EXCLUSIVE MODE`);
    if (await hasWorkspaces(connection)) throw new BackupRefused(notEmpty);
    await connection.unsafe(`TRUNCATE ${all}`);
    const indexes = await readIndexes(connection, names);
    for (const { name } of indexes) await connection.unsafe(`DROP INDEX ${name}`);
    for (const table of tables) {
      progress.step(() => `loading ${table.name}`);
      const name = quoteName(table.name);
      await connection.unsafe(`ALTER TABLE ${name} DISABLE TRIGGER USER`);
      await copyInParts(connection, copyInStatement(table), rows(table));
      await connection.unsafe(`ALTER TABLE ${name} ENABLE TRIGGER USER`);
    }
    for (const { name, definition } of indexes) {
      progress.step(() => `making the index ${name}`);
      await connection.unsafe(definition);
    }
    // Last, because sequences are outside of transactions.
    for (const { name, value, called } of await beforeCommit(connection))
      await connection`SELECT setval(${quoteName(name)}::regclass, ${value}::bigint, ${called})`;
    await connection`COMMIT`;
    await connection`ANALYZE`;
  });
}

function refuseOtherTables(found: readonly string[], tables: readonly Pick<Table, 'name'>[]): void {
  const present = new Set(found.filter((name) => !REBUILT_TABLES.includes(name)));
  const differing = [...present.symmetricDifference(new Set(tables.map(({ name }) => name)))];
  if (differing.length > 0)
    throw new BackupRefused(
      `the tables of the database are not those that are to be loaded: ${differing.join(', ')}`,
    );
}
