// Filling tables fast: no index or key is kept up on the way; all are put back at the end, as the catalogue described
// them. The triggers of inserts are statement triggers, which a COPY fires once, so that they stay.

import postgres from 'postgres';
import type { Sql } from '../../src/infra/postgres/client.ts';

/** Those that a bulk load of documents writes to. */
const TABLES = ['document_search', 'documents', 'document_texts', 'document_words'];

type Definition = { table: string; name: string; constraint: boolean; definition: string };

/** Takes indexes and keys off the tables; the function that is returned puts them back. */
export async function strip(sql: Sql, tables: readonly string[] = TABLES): Promise<() => Promise<void>> {
  const definitions = await sql<Definition[]>`
    SELECT i.indrelid::regclass::text AS table, coalesce(c.conname, i.indexrelid::regclass::text) AS name,
      c.conname IS NOT NULL AS constraint,
      -- Without ONLY, so that the partitions of a table get theirs, too.
      coalesce(pg_get_constraintdef(c.oid), replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ')) AS definition
    FROM pg_index i LEFT JOIN pg_constraint c ON c.conindid = i.indexrelid AND c.conrelid = i.indrelid
    WHERE i.indrelid::regclass::text = ANY (${tables as string[]}::text[])`;
  // Keys of other tables refer to those that are taken off, and keys of these would be looked at for each row.
  const references = await sql<Omit<Definition, 'constraint'>[]>`
    SELECT conrelid::regclass::text AS table, conname AS name, pg_get_constraintdef(oid) AS definition
    FROM pg_constraint WHERE contype = 'f' AND (confrelid::regclass::text = ANY (${tables as string[]}::text[])
      OR conrelid::regclass::text = ANY (${tables as string[]}::text[]))`;
  for (const { table, name } of references) await sql.unsafe(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
  for (const { table, name, constraint } of definitions)
    await sql.unsafe(constraint ? `ALTER TABLE ${table} DROP CONSTRAINT ${name}` : `DROP INDEX ${name}`);
  const restore = async (table: string): Promise<void> => {
    for (const { name, constraint, definition } of definitions.filter((each) => each.table === table))
      await sql.unsafe(constraint ? `ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}` : definition);
  };
  return async () => {
    await Promise.all(tables.map(restore));
    for (const { table, name, definition } of references)
      await sql.unsafe(`ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`);
  };
}

const CHUNK_LENGTH = 1 << 20;

/** A COPY into each of the tables, by the columns that are given, on a connection of its own, side by side. */
export async function openCopies<Table extends string>(url: string, columns: Record<Table, string>) {
  const tables = Object.keys(columns) as Table[];
  const client = postgres(url, { max: tables.length, fetch_types: false, onnotice: () => {} });
  const streams = await Promise.all(
    tables.map(async (table) => {
      const stream = await client.unsafe(`COPY ${table} (${columns[table]}) FROM STDIN`).writable();
      return { table, stream, waiting: '' };
    }),
  );
  const send = (copy: (typeof streams)[number]): Promise<void> => {
    const { stream, waiting } = copy;
    copy.waiting = '';
    return new Promise((resolve, reject) => {
      stream.write(waiting, (error) => (error ? reject(error) : resolve()));
    });
  };
  return {
    /** Resolves once the server has taken enough of it to go on. */
    async add(lines: Record<Table, string>): Promise<void> {
      for (const copy of streams) {
        copy.waiting += lines[copy.table];
        if (copy.waiting.length > CHUNK_LENGTH) await send(copy);
      }
    },
    async end(): Promise<void> {
      for (const copy of streams) {
        await send(copy);
        await new Promise<void>((resolve, reject) => {
          copy.stream.once('error', reject);
          copy.stream.once('finish', resolve);
          copy.stream.end();
        });
      }
      await client.end();
    },
  };
}
