// Whether the search tables hold what the documents say: entries, counts and bitmaps, each against what it is made of.

import type { Sql, Transaction } from '../../../infra/postgres/client.ts';
import type { Document } from '../../document.ts';
import { remakeBitmaps } from './common-terms.ts';
import { entryRows, toEntryRows, visitDocuments, writeEntries } from './entries.ts';
import { EVERYBODY } from './statements.ts';

export type EntryDrift = {
  compared: number;
  /** Documents whose entry is absent, or not what it should be. */
  missing: number;
  different: number;
  /** Entries of which there is no document. */
  extra: number;
  /** Whether totals are what a count gives. */
  counts: 'right' | 'wrong';
};

/** Compares all of it, batch by batch; with `repair`, what differs is written anew. Searches and writers go on. */
export async function verifyEntries(sql: Sql, repair: boolean): Promise<EntryDrift> {
  const drift: EntryDrift = { compared: 0, missing: 0, different: 0, extra: 0, counts: 'right' };
  await visitDocuments(sql, async (tx, documents) => {
    const drifted = await findDrifted(tx, documents);
    for (const missing of drifted.values()) drift[missing ? 'missing' : 'different'] += 1;
    drift.compared += documents.length;
    if (!repair || drifted.size === 0) return;
    // Out and in again: the triggers count both.
    await tx`DELETE FROM document_search WHERE id = ANY (${[...drifted.keys()]}::uuid[])`;
    await writeEntries(
      tx,
      documents.filter(({ id }) => drifted.has(id)),
    );
  });
  drift.extra = await countOrphans(sql, repair);
  if (!(await countsAreRight(sql))) {
    drift.counts = 'wrong';
    if (repair) await recount(sql);
  }
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

const counted = (sql: Transaction) => sql`
  SELECT workspace_id, class, subject, of.day, count(*)::bigint AS documents
  FROM document_search, LATERAL (VALUES ((created_at AT TIME ZONE 'UTC')::date), ('-infinity')) AS of (day),
    LATERAL (VALUES (owner_id), (${EVERYBODY}::uuid)) AS whose (subject)
  GROUP BY 1, 2, 3, 4`;

async function countsAreRight(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ right: boolean }[]>`
    WITH kept AS (
      SELECT workspace_id, class, subject, day, sum(documents)::bigint AS documents FROM (
        SELECT * FROM document_counts
        UNION ALL
        SELECT workspace_id, class, subject, of.day, documents
        FROM document_count_changes changed, LATERAL (VALUES (changed.day), ('-infinity')) AS of (day),
          LATERAL (VALUES (owner_id), (${EVERYBODY}::uuid)) AS whose (subject)) parts
      GROUP BY 1, 2, 3, 4 HAVING sum(documents) <> 0)
    SELECT NOT EXISTS (
      (SELECT * FROM kept EXCEPT (${counted(sql)})) UNION ALL ((${counted(sql)}) EXCEPT SELECT * FROM kept)) AS right`;
  return row?.right === true && (await bitmapsAreRight(sql));
}

/** Each day's documents of each common term, as the bitmaps and the changes beside them tell, and as they are. */
async function bitmapsAreRight(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ right: boolean }[]>`
    WITH kept AS (
      SELECT term, class, day, sum(documents)::bigint AS documents FROM (
        SELECT term, class, day, bit_count(bits) AS documents FROM document_bitmaps
        UNION ALL
        SELECT term, class, day, documents
        FROM document_count_changes, unnest(terms) AS of (term) JOIN document_common_terms USING (term)) parts
      GROUP BY 1, 2, 3 HAVING sum(documents) <> 0),
    counted AS (
      SELECT term, class, (created_at AT TIME ZONE 'UTC')::date AS day, count(*)::bigint AS documents
      FROM document_search, unnest(terms) AS of (term) JOIN document_common_terms USING (term) GROUP BY 1, 2, 3)
    SELECT NOT EXISTS (
      (SELECT * FROM kept EXCEPT SELECT * FROM counted)
      UNION ALL (SELECT * FROM counted EXCEPT SELECT * FROM kept)) AS right`;
  return row?.right === true;
}

/** Waits until all writers have ended, and keeps others waiting: no document changes while they are counted. */
async function recount(sql: Sql): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`LOCK TABLE document_count_changes, document_counts, document_bitmaps IN SHARE ROW EXCLUSIVE MODE`;
    await tx`DELETE FROM document_count_changes`;
    await tx`DELETE FROM document_counts`;
    await tx`INSERT INTO document_counts (workspace_id, class, subject, day, documents) ${counted(tx)}`;
    await remakeBitmaps(tx);
  });
}
