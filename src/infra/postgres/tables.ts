/** The tables and sequences of the schema, as the server's catalogue lists them, for copies of everything that it holds. */
import type { Transaction } from './tag.ts';

export type Table = {
  name: string;
  /** In their order; without generated ones. */
  columns: string[];
  /** Its rows are those of its partitions, which are not listed. */
  partitioned: boolean;
};

/** `value`: a bigint in decimal. */
export type Sequence = { name: string; value: string; called: boolean };

/** Kept by `migrate`. */
const MIGRATIONS = 'schema_migrations';

export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/**
 * All tables but that of the migrations and the `except` ones, each after those that its foreign keys name. Tables of extensions
 * are not listed.
 * Throws for tables whose foreign keys form a circle.
 */
export async function readTables(sql: Transaction, except: readonly string[] = []): Promise<Table[]> {
  const rows = await sql<(Table & { parents: string[] })[]>`
    SELECT c.relname::text AS name, c.relkind = 'p' AS partitioned,
      ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0
        AND NOT attisdropped AND attgenerated = '' ORDER BY attnum) AS columns,
      ARRAY(SELECT DISTINCT r.relname::text FROM pg_constraint k JOIN pg_class r ON r.oid = k.confrelid
        WHERE k.conrelid = c.oid AND k.contype = 'f' AND k.confrelid <> c.oid
          AND r.relname <> ALL (${except as string[]}::text[])) AS parents
    FROM pg_class c
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND c.relname <> ALL (${[MIGRATIONS, ...except]}::text[])
      AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e')
    ORDER BY c.relname`;
  const ordered: Table[] = [];
  const placed = new Set<string>();
  while (ordered.length < rows.length) {
    const next = rows.filter(
      ({ name, parents }) => !placed.has(name) && parents.every((parent) => placed.has(parent)),
    );
    if (next.length === 0) throw new Error('The foreign keys of the tables form a circle');
    for (const { name, columns, partitioned } of next) {
      placed.add(name);
      ordered.push({ name, columns, partitioned });
    }
  }
  return ordered;
}

/** Sequences are outside of transactions: read after the rows, they are at or beyond each number in these. */
export const readSequences = (sql: Transaction): Promise<Sequence[]> =>
  sql<Sequence[]>`
    SELECT sequencename::text AS name, coalesce(last_value, start_value)::text AS value, last_value IS NOT NULL AS called
    FROM pg_sequences WHERE schemaname = current_schema() ORDER BY sequencename`;

/** The statement that writes the rows of a table in the text format of COPY. */
export function copyOutStatement({ name, columns, partitioned }: Table): string {
  const list = columns.map(quoteName).join(', ');
  return partitioned
    ? `COPY (SELECT ${list} FROM ${quoteName(name)}) TO STDOUT`
    : `COPY ${quoteName(name)} (${list}) TO STDOUT`;
}

export const copyInStatement = ({ name, columns }: Pick<Table, 'name' | 'columns'>): string =>
  `COPY ${quoteName(name)} (${columns.map(quoteName).join(', ')}) FROM STDIN`;

/** Definitions of the indexes that no constraint needs, with the statements that make them: rows are loaded faster without. */
export const readIndexes = (
  sql: Transaction,
  tables: readonly string[],
): Promise<{ name: string; definition: string }[]> =>
  sql<{ name: string; definition: string }[]>`
    SELECT i.indexrelid::regclass::text AS name,
      replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ') AS definition
    FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
    WHERE t.relnamespace = current_schema()::regnamespace AND t.relname = ANY (${tables as string[]}::text[])
      AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid)
    ORDER BY 1`;
