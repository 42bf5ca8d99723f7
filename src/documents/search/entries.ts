// Writing what search knows of documents, together with the documents themselves.

import type { Fragment, Sql, Transaction } from '../../infra/postgres/client.ts';
import { changedNames, curatorsOf, type Document, type DocumentChanges } from '../document.ts';
import { documentColumns, FIRST_ID } from '../rows.ts';
import { ENTRY_FORM, type Indexed, type SearchEntry, toSearchEntry } from './entry.ts';

/** Words that a process knows the vocabulary to hold, so that it need not write them again. */
const KNOWN_WORDS_MAX = 200_000;

/** Documents of which the entries are looked at, or written anew, in one transaction. */
const BATCH_MAX = 200;

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
    async addition(sql: Transaction, document: Indexed): Promise<{ ctes: Fragment; written(): void }> {
      const entry = await toSearchEntry(document);
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

    /**
     * As `addition`, for a statement that changes a document, which its own `revised` then holds: each part with a comma before
     * it. What the changes leave as it is in the entry is not written.
     */
    async revision(
      sql: Transaction,
      before: Document,
      changes: DocumentChanges,
    ): Promise<{ ctes: Fragment; written(): void }> {
      const touched = touchedBy(before, changes);
      if (!touched.row && !touched.texts) return { ctes: sql``, written: () => undefined };
      const curators = changes.access === undefined ? before.curators : curatorsOf(changes.access);
      const entry = await toSearchEntry({ ...before, ...changes, curators });
      const words = touched.texts ? entry.vocabulary.filter((word) => !known.has(word)) : [];
      const searched = sql`,
        searched AS (
          UPDATE document_search s SET owner_id = revised.owner_id, file_size = revised.file_size, name = ${entry.name},
            file_type = ${entry.fileType}::text, file_hash = ${entry.fileHash}::text,
            terms = ${entry.terms as string[]}::uuid[]
          FROM revised WHERE s.id = revised.id)`;
      // The mirror is told of a changed row by a trigger.
      const told = touched.row
        ? sql``
        : sql`RETURNING search_outbox_add(ARRAY[revised.id], ARRAY[revised.workspace_id])`;
      const texts = sql`,
        texts AS (
          UPDATE document_texts t SET summary = ${entry.summary}::text, access = ${json(sql, entry.access)}::jsonb,
            slots = ${json(sql, entry.slots)}::jsonb, words = ${entry.words}::tsvector,
            complete = ${entry.complete}::boolean
          FROM revised WHERE t.id = revised.id ${told})`;
      const vocabulary = words.length === 0 ? sql`` : sql`, vocabulary AS (${addWords(sql, words)})`;
      const ctes = sql`${touched.row ? searched : sql``} ${touched.texts ? texts : sql``} ${vocabulary}`;
      return { ctes, written: () => remember(words) };
    },
  };
}

/** Which parts of an entry hold something of each attribute; a summary stands in the row only by being there. */
const PARTS: Partial<Record<keyof DocumentChanges, readonly ('row' | 'texts')[]>> = {
  name: ['row', 'texts'],
  tags: ['row', 'texts'],
  categories: ['row', 'texts'],
  access: ['row', 'texts'],
  slots: ['row', 'texts'],
  summary: ['texts'],
  fileHash: ['row'],
  fileSize: ['row'],
  ownerId: ['row'],
};

function touchedBy(before: Document, changes: DocumentChanges): { row: boolean; texts: boolean } {
  const changed = changedNames(before, changes);
  const parts = new Set(changed.flatMap((name) => PARTS[name] ?? []));
  const isFilled = (summary: string | null): boolean => (summary ?? '').trim() !== '';
  const comesOrGoes =
    changed.includes('summary') && isFilled(before.summary) !== isFilled(changes.summary ?? null);
  return { row: parts.has('row') || comesOrGoes, texts: parts.has('texts') };
}

/** Visits all documents, a batch in order of id in a transaction in which nothing else writes to them. */
export async function visitDocuments(
  sql: Sql,
  visit: (tx: Transaction, documents: readonly Document[]) => Promise<void>,
): Promise<void> {
  for (let after: string | undefined = FIRST_ID; after !== undefined; ) {
    const from: string = after;
    after = await sql.begin<string | undefined>(async (tx) => {
      const documents = await tx<Document[]>`
        SELECT ${documentColumns(tx)} FROM documents WHERE id > ${from}::uuid ORDER BY id LIMIT ${BATCH_MAX}
        FOR NO KEY UPDATE`;
      if (documents.length > 0) await visit(tx, documents);
      return documents.at(-1)?.id;
    });
  }
}

/** Writes the entries of all documents anew; what `onBatch` throws after a batch ends it. */
export async function rewriteEntries(sql: Sql, onBatch: (last: string) => void = () => {}): Promise<void> {
  await visitDocuments(sql, async (tx, documents) => {
    await writeEntries(tx, documents);
    onBatch(documents.at(-1)?.id ?? '');
  });
  await sql`UPDATE document_search_form SET version = ${ENTRY_FORM}`;
}

/** Whether every entry has the form that this version writes. */
export async function areEntriesCurrent(sql: Transaction): Promise<boolean> {
  const [row] = await sql<{ version: number }[]>`SELECT version FROM document_search_form`;
  return row?.version === ENTRY_FORM;
}

const json = (sql: Transaction, value: object | null) => (value === null ? null : sql.json(value as never));

/** In one order, so that two who add the same words wait for each other and never in a circle. */
const addWords = (sql: Transaction, words: readonly string[]): Fragment => sql`
  INSERT INTO document_words (word) SELECT unnest(${[...words].sort()}::text[]) ON CONFLICT DO NOTHING`;

/** The documents' entries as rows of a statement: `(id, name, …, complete)`. */
export const entryRows = (sql: Transaction, rows: readonly EntryRow[]): Fragment => sql`
  SELECT * FROM jsonb_to_recordset(${sql.json(rows as never)}::jsonb) AS row (
    id uuid, name text, "objectKey" text, "fileType" text, "fileHash" text, summary text, access jsonb,
    slots jsonb, terms uuid[], words text, complete boolean)`;

type EntryRow = SearchEntry & { id: string };

export async function toEntryRows(documents: readonly Document[]): Promise<EntryRow[]> {
  const found: EntryRow[] = [];
  for (const document of documents) found.push({ id: document.id, ...(await toSearchEntry(document)) });
  return found;
}

/** Brings the entries of the documents up to date. Their rows must be locked by the transaction. */
export async function writeEntries(tx: Transaction, documents: readonly Document[]): Promise<void> {
  const entries = await toEntryRows(documents);
  const words = new Set(entries.flatMap(({ vocabulary }) => vocabulary));
  await tx`
    WITH rows AS (${entryRows(tx, entries)}),
    searched AS (
      INSERT INTO document_search
        (id, workspace_id, class, owner_id, created_at, file_size, name, file_type, file_hash, terms)
      SELECT id, d.workspace_id, document_class(d.status, d.archived_at), d.owner_id, d.created_at, d.file_size,
        r.name, r."fileType", r."fileHash", r.terms
      FROM rows r JOIN documents d USING (id)
      ON CONFLICT (id) DO UPDATE SET class = excluded.class, file_size = excluded.file_size, name = excluded.name,
        file_type = excluded.file_type, file_hash = excluded.file_hash, terms = excluded.terms),
    texts AS (
      INSERT INTO document_texts (id, object_key, summary, access, slots, words, complete)
      SELECT id, "objectKey", summary, access, slots, words::tsvector, complete FROM rows
      ON CONFLICT (id) DO UPDATE SET object_key = excluded.object_key, summary = excluded.summary,
        access = excluded.access, slots = excluded.slots, words = excluded.words, complete = excluded.complete)
    ${addWords(tx, [...words])}`;
}
