// Whether the search tables hold what the documents say.

import type { Sql, Transaction } from '../../infra/postgres/client.ts';
import type { Document } from '../document.ts';
import { entryRows, toEntryRows, visitDocuments, writeEntries } from './entries.ts';

export type EntryDrift = {
  compared: number;
  /** Documents whose entry is absent, or not what it should be. */
  missing: number;
  different: number;
  /** Entries of which there is no document. */
  extra: number;
};

/** Compares all of it, batch by batch; with `repair`, what differs is written anew. Searches and writers go on. */
export async function verifyEntries(sql: Sql, repair: boolean): Promise<EntryDrift> {
  const drift: EntryDrift = { compared: 0, missing: 0, different: 0, extra: 0 };
  await visitDocuments(sql, async (tx, documents) => {
    const drifted = await findDrifted(tx, documents);
    for (const missing of drifted.values()) drift[missing ? 'missing' : 'different'] += 1;
    drift.compared += documents.length;
    if (!repair || drifted.size === 0) return;
    await tx`DELETE FROM document_search WHERE id = ANY (${[...drifted.keys()]}::uuid[])`;
    await writeEntries(
      tx,
      documents.filter(({ id }) => drifted.has(id)),
    );
  });
  drift.extra = await countOrphans(sql, repair);
  return drift;
}

/** By id, whether the entry is missing. */
async function findDrifted(tx: Transaction, documents: readonly Document[]): Promise<Map<string, boolean>> {
  const drifted = await tx<{ id: string; missing: boolean }[]>`
    WITH rows AS (${entryRows(tx, await toEntryRows(documents))})
    SELECT id, s.name IS NULL OR t.object_key IS NULL AS missing
    FROM rows r JOIN documents d USING (id) LEFT JOIN document_search s USING (id) LEFT JOIN document_texts t USING (id)
    WHERE (s.workspace_id, s.class, s.owner_id, s.created_at, s.file_size, s.name, s.file_type, s.file_hash)
        IS DISTINCT FROM (d.workspace_id, document_class(d.status, d.archived_at), d.owner_id, d.created_at,
          d.file_size, r.name, r."fileType", r."fileHash")
      OR (t.object_key, t.summary, t.access, t.slots, t.words, t.complete)
        IS DISTINCT FROM (r."objectKey", r.summary, nullif(r.access, 'null'), nullif(r.slots, 'null'),
          r.words::tsvector, r.complete)
      OR NOT (s.terms @> r.terms AND s.terms <@ r.terms)`;
  return new Map(drifted.map(({ id, missing }) => [id, missing]));
}

async function countOrphans(sql: Sql, repair: boolean): Promise<number> {
  const absent = (table: ReturnType<typeof sql>) =>
    sql`SELECT id FROM ${table} entry WHERE NOT EXISTS (SELECT FROM documents d WHERE d.id = entry.id)`;
  const rows = await sql<{ id: string }[]>`
    ${absent(sql`document_search`)} UNION ${absent(sql`document_texts`)}`;
  const ids = rows.map(({ id }) => id);
  if (!repair || ids.length === 0) return ids.length;
  await sql`DELETE FROM document_search WHERE id = ANY (${ids}::uuid[])`;
  await sql`DELETE FROM document_texts WHERE id = ANY (${ids}::uuid[])`;
  return ids.length;
}
