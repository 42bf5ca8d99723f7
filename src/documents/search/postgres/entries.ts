// Writing what search knows of documents, together with the documents themselves.

import type { Sql, Transaction } from '../../../infra/postgres/client.ts';
import { documentColumns } from '../../columns.ts';
import type { Document } from '../../document.ts';
import { ENTRY_FORM, type Indexed, type SearchEntry, toSearchEntry } from '../entry.ts';
import type { Fragment } from './fragments.ts';

/** Words that a process knows the vocabulary to hold, so that it need not write them again. */
const KNOWN_WORDS_MAX = 200_000;

/** Documents that are written anew in one transaction. */
const REWRITE_BATCH = 200;

export type SearchEntries = ReturnType<typeof createSearchEntries>;

export function createSearchEntries() {
  const known = new Set<string>();

  /** To be called once the words are committed. */
  const remember = (words: readonly string[]): void => {
    if (known.size + words.length > KNOWN_WORDS_MAX) known.clear();
    for (const word of words) known.add(word);
  };

  return {
    /**
     * The parts of a statement that add the entry of a document, which the statement's own `inserted (…, fresh)`
     * holds: nothing is added where it is not fresh. Call `written` after the commit.
     */
    addition(sql: Transaction, document: Indexed): { ctes: Fragment; written(): void } {
      const entry = toSearchEntry(document);
      const words = entry.vocabulary.filter((word) => !known.has(word));
      const ctes = sql`
        searched AS (
          INSERT INTO document_search
            (id, workspace_id, class, owner_id, created_at, file_size, name, file_type, file_hash, terms)
          SELECT id, workspace_id, document_class(status, archived_at), owner_id, created_at, file_size,
            ${entry.name}, ${entry.fileType}::text, ${entry.fileHash}::text, ${entry.terms as string[]}::uuid[]
          FROM inserted WHERE fresh),
        texts AS (
          INSERT INTO document_texts (id, object_key, summary, access, slots, words, complete)
          SELECT id, ${entry.objectKey}, ${entry.summary}::text, ${json(sql, entry.access)}::jsonb,
            ${json(sql, entry.slots)}::jsonb, ${entry.words}::tsvector, ${entry.complete}::boolean
          FROM inserted WHERE fresh),
        vocabulary AS (${addWords(sql, words)})`;
      return { ctes, written: () => remember(words) };
    },

    /** As `addition`, for a statement that changes a document, which its own `revised` then holds. */
    revision(sql: Transaction, document: Indexed): { ctes: Fragment; written(): void } {
      const entry = toSearchEntry(document);
      const words = entry.vocabulary.filter((word) => !known.has(word));
      const ctes = sql`
        searched AS (
          UPDATE document_search s SET owner_id = revised.owner_id, file_size = revised.file_size, name = ${entry.name},
            file_type = ${entry.fileType}::text, file_hash = ${entry.fileHash}::text,
            terms = ${entry.terms as string[]}::uuid[]
          FROM revised WHERE s.id = revised.id),
        texts AS (
          UPDATE document_texts t SET summary = ${entry.summary}::text, access = ${json(sql, entry.access)}::jsonb,
            slots = ${json(sql, entry.slots)}::jsonb, words = ${entry.words}::tsvector,
            complete = ${entry.complete}::boolean
          FROM revised WHERE t.id = revised.id),
        vocabulary AS (${addWords(sql, words)})`;
      return { ctes, written: () => remember(words) };
    },

    /** Brings the entry of a document up to date. Its row must be locked by the transaction. */
    async rewrite(tx: Transaction, document: Document): Promise<void> {
      await writeEntries(tx, [document], known);
    },

    /**
     * Writes anew the entries of all documents after `after`, a batch in order of id; returns the last one's id,
     * undefined at the end.
     */
    async rewriteBatch(sql: Sql, after: string): Promise<string | undefined> {
      return sql.begin(async (tx) => {
        const documents = await tx<Document[]>`
          SELECT ${documentColumns(tx)} FROM documents WHERE id > ${after}::uuid ORDER BY id LIMIT ${REWRITE_BATCH} FOR NO KEY UPDATE`;
        await writeEntries(tx, documents, new Set());
        return documents.at(-1)?.id;
      });
    },

    /** Whether every entry has the form that this version writes. */
    async current(sql: Transaction): Promise<boolean> {
      const [row] = await sql<{ version: number }[]>`SELECT version FROM document_search_form`;
      return row?.version === ENTRY_FORM;
    },

    async declareCurrent(sql: Transaction): Promise<void> {
      await sql`UPDATE document_search_form SET version = ${ENTRY_FORM}`;
    },
  };
}

const json = (sql: Transaction, value: object | null) => (value === null ? null : sql.json(value as never));

/** In one order, so that two who add the same words wait for each other and never in a circle. */
const addWords = (sql: Transaction, words: readonly string[]): Fragment => sql`
  INSERT INTO document_words (word) SELECT unnest(${[...words].sort()}::text[]) ON CONFLICT DO NOTHING`;

async function writeEntries(tx: Transaction, documents: readonly Document[], known: ReadonlySet<string>) {
  if (documents.length === 0) return;
  const rows = documents.map((document) => toRow(document, toSearchEntry(document)));
  const words = new Set(rows.flatMap(({ vocabulary }) => vocabulary).filter((word) => !known.has(word)));
  await tx`
    WITH rows AS (
      SELECT * FROM jsonb_to_recordset(${tx.json(rows as never)}::jsonb) AS row (
        id uuid, name text, object_key text, file_type text, file_hash text, summary text, access jsonb,
        slots jsonb, terms uuid[], words text, complete boolean)),
    searched AS (
      INSERT INTO document_search
        (id, workspace_id, class, owner_id, created_at, file_size, name, file_type, file_hash, terms)
      SELECT id, d.workspace_id, document_class(d.status, d.archived_at), d.owner_id, d.created_at, d.file_size,
        r.name, r.file_type, r.file_hash, r.terms
      FROM rows r JOIN documents d USING (id)
      ON CONFLICT (id) DO UPDATE SET class = excluded.class, file_size = excluded.file_size, name = excluded.name,
        file_type = excluded.file_type, file_hash = excluded.file_hash, terms = excluded.terms),
    texts AS (
      INSERT INTO document_texts (id, object_key, summary, access, slots, words, complete)
      SELECT id, object_key, summary, access, slots, words::tsvector, complete FROM rows
      ON CONFLICT (id) DO UPDATE SET object_key = excluded.object_key, summary = excluded.summary,
        access = excluded.access, slots = excluded.slots, words = excluded.words, complete = excluded.complete)
    ${addWords(tx, [...words])}`;
}

/** An entry as `jsonb_to_recordset` takes it. */
export function toRow(document: Document, entry: SearchEntry) {
  return {
    id: document.id,
    name: entry.name,
    object_key: entry.objectKey,
    file_type: entry.fileType,
    file_hash: entry.fileHash,
    summary: entry.summary,
    access: entry.access,
    slots: entry.slots,
    terms: entry.terms,
    words: entry.words,
    complete: entry.complete,
    vocabulary: entry.vocabulary,
  };
}
