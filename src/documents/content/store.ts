// What is kept of documents' contents: states, texts, passages.

import type { Author } from '../../core/author.ts';
import type { Sql, Transaction } from '../../infra/postgres/client.ts';
import { noted } from '../history/store.ts';
import type { Viewer } from '../policy.ts';
import { createWordStore, type WordStore } from '../retrieval/word-store.ts';
import { createConditions } from '../rows.ts';
import { passagesReplaced } from '../vectors/store.ts';
import type { Chunk, Reading, TextFormat } from './protocol.ts';
import { EARLIER_READING, enqueueReadings, READING, SLOW_READING } from './queueing.ts';

export type ContentState = 'pending' | 'ready' | 'empty' | 'unsupported' | 'failed' | 'off';

/** A document whose turn has come. */
export type ToRead = {
  id: string;
  revision: number;
  /** Readings before this one that failed because of the file, or ended with their process. */
  attempts: number;
  givenText: string | null;
  givenFormat: TextFormat | null;
  givenLanguage: string | null;
  objectKey: string;
  name: string;
  contentType: string | null;
  readsFiles: boolean;
};

/** What the history of a document says of its text. */
const TEXT_GIVEN = { field: 'text', before: null, after: null };
const READ_ANEW = { field: 'reading', before: null, after: 'on' };
const READ_OFF = { field: 'reading', before: null, after: 'off' };

export type GivenText = { text: string; format: TextFormat; language: string | null };

export type TextPart = { text: string; format: TextFormat } | { text: null; format: null };

/** What a reading ends with, where it finds no text. */
export type Ending = { state: Exclude<ContentState, 'pending' | 'off'>; reason: string | null };

type Turn = Pick<ToRead, 'id' | 'revision'>;

export type ContentStore = ReturnType<typeof createContentStore>;

/** Whether files are read in the workspace of the document `d`. */
export const readsFilesOf = (sql: Sql) => sql`coalesce(
    (SELECT reads_files FROM document_settings s WHERE s.workspace_id = d.workspace_id), true) AS "readsFiles"`;

/** `replaced` is called after the passages of a document were replaced. */
export function createContentStore(
  sql: Sql,
  words: WordStore = createWordStore(sql),
  replaced: () => void = () => undefined,
) {
  const { edited } = createConditions(sql);
  const readsFiles = readsFilesOf(sql);

  /** Deletes what is kept of a document's text, before the next one. The caller's transaction has locked the document's row of contents. */
  const clear = async (
    tx: Transaction,
    id: string,
    next: { workspaceId: string; passages: number },
  ): Promise<void> => {
    await passagesReplaced(tx, { document: id, ...next });
    await tx`
      WITH words AS (DELETE FROM document_passage_words WHERE document_id = ${id}),
        passages AS (DELETE FROM document_passages WHERE document_id = ${id})
      DELETE FROM document_content_parts WHERE document_id = ${id}`;
  };

  return {
    /**
     * One part of a text in the first of the formats that it has; `text` is null after the last one. Undefined where the
     * content has another revision by now.
     */
    async textPart(options: {
      id: string;
      revision: number;
      formats: readonly TextFormat[];
      part: number;
    }): Promise<TextPart | undefined> {
      const { id, revision, formats, part } = options;
      const [row] = await sql<TextPart[]>`
        SELECT p.text, p.format FROM document_contents c LEFT JOIN document_content_parts p
          ON p.document_id = c.document_id AND p.part = ${part} AND p.format = ANY (${formats as TextFormat[]}::text[])
        WHERE c.document_id = ${id} AND c.revision = ${revision}
        ORDER BY array_position(${formats as TextFormat[]}::text[], p.format) LIMIT 1`;
      return row;
    },

    /**
     * Begins a reading, after changes of who may see the document (decision 025); undefined where there is nothing to read. It is counted
     * until its outcome is noted, because the file may end the process. `unnoted`: counted readings whose outcome could not be noted.
     */
    async begin(id: string, unnoted = 0): Promise<ToRead | undefined> {
      const [row] = await sql<ToRead[]>`
        UPDATE document_contents c SET attempts = greatest(0, c.attempts - ${unnoted}::integer) + 1
        FROM (SELECT * FROM documents WHERE id = ${id} FOR SHARE) d
        WHERE c.document_id = d.id AND c.state = 'pending'
        RETURNING d.id, c.revision, c.attempts - 1 AS attempts, c.given_text AS "givenText",
          c.given_format AS "givenFormat", c.given_language AS "givenLanguage", d.object_key AS "objectKey", d.name,
          d.content_type AS "contentType", ${readsFiles}`;
      return row;
    },

    /** Leaves a reading that takes long to the process for slow files; it is not counted. */
    async postpone({ id, revision, attempts }: Turn & Pick<ToRead, 'attempts'>): Promise<void> {
      await sql`
        WITH asked AS (
          UPDATE document_contents SET attempts = ${attempts}
          WHERE document_id = ${id} AND revision = ${revision} AND state = 'pending'
          RETURNING document_id, workspace_id)
        ${enqueueReadings(sql, SLOW_READING, sql`asked`)}`;
    },

    /** Whether the reading that began with this revision is still to be kept. */
    async isWanted({ id, revision }: Turn): Promise<boolean> {
      const rows = await sql`
        SELECT FROM document_contents WHERE document_id = ${id} AND revision = ${revision} AND state = 'pending'`;
      return rows.length > 0;
    },

    /** Notes why a reading is repeated, and how many are counted. */
    async noteFailure(
      { id, revision, attempts }: Turn & Pick<ToRead, 'attempts'>,
      reason: string,
    ): Promise<void> {
      await sql`
        UPDATE document_contents SET reason = ${reason}, attempts = ${attempts}
        WHERE document_id = ${id} AND revision = ${revision} AND state = 'pending'`;
    },

    /** For a document whose workspace is not read: its text stays; one without is found by the job that catches up, later. */
    async leaveUnread({ id, revision }: Turn): Promise<void> {
      await sql`
        WITH stays AS (UPDATE document_contents SET state = 'ready'
          WHERE document_id = ${id} AND revision = ${revision} AND state = 'pending' AND passages > 0)
        DELETE FROM document_contents
        WHERE document_id = ${id} AND revision = ${revision} AND state = 'pending' AND passages = 0`;
    },

    /**
     * Replaces state, text, passages and their words by what a reading has found, all or nothing; the chunks are fetched
     * within the transaction. Nothing is kept where the document was purged or is to be read anew.
     */
    async keep(
      { id, revision }: Turn,
      found: Omit<Reading, 'memory'> | Ending,
      chunks?: AsyncIterable<Chunk>,
    ) {
      const { language = null, pages = null, characters = 0, passages = 0 } = found as Partial<Reading>;
      const form = await words.formOf(language);
      await sql.begin(async (tx) => {
        const [row] = await tx<{ workspaceId: string }[]>`
          UPDATE document_contents SET state = ${found.state}, reason = ${found.reason}, language = ${language},
            pages = ${pages}, characters = ${characters}, passages = ${passages}, words_revision = revision,
            words_form = ${form}::integer, changed_at = clock_timestamp()
          WHERE document_id = ${id} AND revision = ${revision} AND state = 'pending'
          RETURNING workspace_id AS "workspaceId"`;
        if (row === undefined) return;
        await clear(tx, id, { ...row, passages });
        for await (const chunk of chunks ?? []) await keepChunk(tx, words, { id, ...row, language }, chunk);
      });
      replaced();
    },

    /** The text is a person's from now on; false where the viewer may not edit the document now. */
    async give(viewer: Viewer, id: string, given: GivenText | undefined, author: Author): Promise<boolean> {
      const changes = [given === undefined ? READ_ANEW : TEXT_GIVEN];
      const rows = await sql`
        WITH asked AS (
          INSERT INTO document_contents (document_id, workspace_id, state, given_text, given_format, given_language)
          SELECT id, workspace_id, 'pending', ${given?.text ?? null}, ${given?.format ?? null}, ${given?.language ?? null}
          FROM documents WHERE id = ${id} AND workspace_id = ${viewer.workspaceId} AND deleted_at IS NULL AND ${edited(viewer)} FOR KEY SHARE
          ON CONFLICT (document_id) DO UPDATE SET state = 'pending', reason = NULL, attempts = 0,
            revision = document_contents.revision + 1, given_text = excluded.given_text,
            given_format = excluded.given_format, given_language = excluded.given_language,
            changed_at = clock_timestamp()
          RETURNING document_id, workspace_id)
        ${noted(sql, { author, action: 'content', source: sql`(SELECT document_id AS id FROM asked)`, changes })},
        queued AS (${enqueueReadings(sql, READING, sql`asked`)})
        SELECT FROM asked`;
      return rows.length > 0;
    },

    /** Nothing of the document's text is kept from now on; false where the viewer may not edit the document now. */
    switchOff: (viewer: Viewer, id: string, author: Author): Promise<boolean> =>
      sql.begin(async (tx) => {
        const rows = await tx`
          WITH asked AS (INSERT INTO document_contents (document_id, workspace_id, state)
          SELECT id, workspace_id, 'off' FROM documents
          WHERE id = ${id} AND workspace_id = ${viewer.workspaceId} AND deleted_at IS NULL AND ${edited(viewer)} FOR KEY SHARE
          ON CONFLICT (document_id) DO UPDATE SET state = 'off', reason = NULL, language = NULL, pages = NULL,
            characters = 0, passages = 0, given_text = NULL, given_format = NULL, given_language = NULL,
            revision = document_contents.revision + 1, changed_at = clock_timestamp()
          RETURNING document_id AS id)
          ${noted(tx, { author, action: 'content', source: sql`asked`, changes: [READ_OFF] })}
          SELECT FROM asked`;
        if (rows.length > 0) await clear(tx, id, { workspaceId: viewer.workspaceId, passages: 0 });
        return rows.length > 0;
      }),

    /**
     * Queues documents that are not known here, in the order of their ids; returns where to go on, undefined at the end.
     * Documents of workspaces that are not read are left out, and those that are being purged.
     */
    async queueUnknown(options: {
      after: string;
      scan: number;
      limit: number;
    }): Promise<{ queued: number; next: string | undefined }> {
      const { after, scan, limit } = options;
      const [row] = await sql<
        { queued: number; scanned: number; next: string | null; last: string | null }[]
      >`
        WITH page AS (
          SELECT id FROM documents WHERE id > ${after} ORDER BY id LIMIT ${scan}),
        unknown AS (
          SELECT id, workspace_id FROM documents d
          WHERE id IN (SELECT id FROM page) AND NOT EXISTS (SELECT FROM document_contents c WHERE c.document_id = d.id)
            AND NOT EXISTS (SELECT FROM document_settings s WHERE s.workspace_id = d.workspace_id AND NOT reads_files)
          ORDER BY id LIMIT ${limit} FOR KEY SHARE OF d SKIP LOCKED),
        asked AS (
          INSERT INTO document_contents (document_id, workspace_id, state)
          SELECT id, workspace_id, 'pending' FROM unknown
          ON CONFLICT (document_id) DO NOTHING RETURNING document_id, workspace_id),
        queued AS (${enqueueReadings(sql, EARLIER_READING, sql`asked`)})
        SELECT (SELECT count(*)::int FROM unknown) AS queued, (SELECT count(*)::int FROM page) AS scanned,
          (SELECT max(id::text) FROM unknown) AS last, (SELECT max(id::text) FROM page) AS next`;
      if (row === undefined) throw new Error('a statement without a row');
      const more = row.scanned === scan || row.queued === limit;
      const next = row.queued === limit ? row.last : row.next;
      return { queued: row.queued, next: more ? (next ?? undefined) : undefined };
    },
  };
}

/** Keeps a part of what was found in a document: of its text, or of its passages with their words. */
async function keepChunk(
  tx: Transaction,
  words: WordStore,
  document: { id: string; workspaceId: string; language: string | null },
  chunk: Chunk,
): Promise<void> {
  const { id, workspaceId } = document;
  if (chunk.kind === 'text') {
    await tx`
      INSERT INTO document_content_parts (document_id, format, part, text)
      VALUES (${id}, ${chunk.format}, ${chunk.part}, ${chunk.text})`;
    return;
  }
  const { passages, from } = chunk;
  const { lengths, vectors } = await words.toRows(tx, document, chunk.words);
  await tx`
    WITH rows AS (
      SELECT ${from}::integer + no::integer - 1 AS passage, page, heading, text, starts_at, ends_at, length, vector
      FROM unnest(${passages.map(({ page }) => page)}::integer[], ${passages.map(({ heading }) => heading)}::text[],
        ${passages.map(({ text }) => text)}::text[], ${passages.map(({ start }) => start)}::integer[],
        ${passages.map(({ end }) => end)}::integer[], ${lengths}::integer[], ${vectors}::text[])
        WITH ORDINALITY AS rows (page, heading, text, starts_at, ends_at, length, vector, no)),
    kept AS (
      INSERT INTO document_passages (document_id, workspace_id, passage, page, heading, text, starts_at, ends_at)
      SELECT ${id}, ${workspaceId}, passage, page, heading, text, starts_at, ends_at FROM rows
      RETURNING id, passage)
    INSERT INTO document_passage_words (passage_id, document_id, workspace_id, length, words)
    SELECT id, ${id}, ${workspaceId}, length, vector::tsvector FROM kept JOIN rows USING (passage)`;
}
