// What is kept of vectors, and the statements by which documents are embedded; `loading.ts` has those by which they are found.

import type { Sql, Transaction } from '../../infra/postgres/client.ts';
import { enqueue, isQueued } from '../../infra/postgres/job-queue.ts';
import { EQUAL_TEXTS_MAX, SUPERSEDED_DOCUMENTS_A_STATEMENT } from './limits.ts';

/** The queue kinds of documents whose passages are to be embedded: new ones, and earlier ones; payload `{ document, workspace }`. */
export const EMBEDDING = 'documents.embed-passages';
export const EARLIER_EMBEDDING = 'documents.embed-earlier-passages';

export type StoredModel = { id: number; name: string; dimensions: number };

/** A document whose passages are to be embedded. */
export type ToEmbed = {
  id: string;
  workspaceId: string;
  revision: number;
  /** The model whose vectors answer in its workspace; null where there is none yet. */
  answering: string | null;
  /** The model that is to embed it, where that has embedded anything before. */
  model: StoredModel | undefined;
};

/** A passage, with the hash of the text that is embedded of it. */
export type PassageText = {
  id: number | bigint;
  passage: number;
  text: string;
  hash: string;
  /** Whether it has a vector of this text. */
  embedded: boolean;
  /** Where it has none: that of an equal text in its workspace. */
  known: Buffer | null;
};

export type NewVector = { passageId: number | bigint; hash: string; vector: Buffer };

/** `changed`: its passages were replaced or purged meanwhile, or some have no vector. */
type Completion = 'complete' | 'changed';

/**
 * Queues a document whose passages are replaced, or removes its vectors where it has none from now on. Within the caller's
 * transaction, which has locked its contents.
 */
export async function passagesReplaced(
  tx: Transaction,
  { document, workspaceId, passages }: { document: string; workspaceId: string; passages: number },
): Promise<void> {
  if (passages > 0) {
    const payload = tx`SELECT jsonb_build_object('document', ${document}::text, 'workspace', ${workspaceId}::text)`;
    await enqueue(tx, EMBEDDING, payload);
  } else {
    await tx`DELETE FROM document_embeddings WHERE document_id = ${document}`;
    await tx`DELETE FROM document_vectors WHERE document_id = ${document}`;
  }
}

export function createVectorStore(sql: Sql) {
  const findModel = async (name: string): Promise<StoredModel | undefined> => {
    const [row] = await sql<StoredModel[]>`
      SELECT id, name, dimensions FROM document_vector_models WHERE name = ${name}`;
    return row;
  };

  return {
    findModel,

    /** The model, with the dimensions that its first vectors had. */
    async addModel(name: string, dimensions: number): Promise<StoredModel> {
      await sql`
        INSERT INTO document_vector_models (name, dimensions) VALUES (${name}, ${dimensions}) ON CONFLICT DO NOTHING`;
      const model = await findModel(name);
      if (model === undefined) throw new Error('a model that was added is not there');
      return model;
    },

    /** Undefined where the document has no passages, or is to have others: the transaction that stores these queues it again. */
    async begin(id: string, name: string): Promise<ToEmbed | undefined> {
      const [row] = await sql<(Omit<ToEmbed, 'model'> & { modelId: number | null; dimensions: number })[]>`
        SELECT c.document_id AS id, c.workspace_id AS "workspaceId", c.revision, a.name AS answering,
          m.id AS "modelId", m.dimensions
        FROM document_contents c LEFT JOIN document_vector_workspaces w USING (workspace_id)
        LEFT JOIN document_vector_models a ON a.id = w.model_id
        LEFT JOIN document_vector_models m ON m.name = ${name}
        WHERE c.document_id = ${id} AND c.state = 'ready' AND c.passages > 0`;
      if (row === undefined) return undefined;
      const { modelId, dimensions, ...document } = row;
      return { ...document, model: modelId === null ? undefined : { id: modelId, name, dimensions } };
    },

    /**
     * The next passages of a document. What is embedded of one is its text below the headings that it stands under. Where it has no
     * vector of that, equal texts of its workspace are looked at, also of other documents; but not vectors of zeros, which were stored for
     * want of any.
     */
    async passagesAfter(
      { id, workspaceId }: Pick<ToEmbed, 'id' | 'workspaceId'>,
      { modelId, after, limit }: { modelId: number; after: number; limit: number },
    ): Promise<PassageText[]> {
      return sql<PassageText[]>`
        WITH texts AS (
          SELECT id, passage, concat(heading || E'\n', text) AS text FROM document_passages
          WHERE document_id = ${id} AND passage > ${after} ORDER BY passage LIMIT ${limit}),
        page AS MATERIALIZED (SELECT *, substring(sha256(convert_to(text, 'UTF8')) FOR 16) AS hash FROM texts)
        SELECT p.id, p.passage, p.text, encode(p.hash, 'hex') AS hash, v.passage_id IS NOT NULL AS embedded, k.vector AS known
        FROM page p
        LEFT JOIN LATERAL (
          SELECT passage_id, text_hash FROM document_vectors
          WHERE document_id = ${id} AND model_id = ${modelId} AND passage_id = p.id LIMIT 1) v ON v.text_hash = p.hash
        LEFT JOIN LATERAL (
          SELECT equal.vector FROM (
            SELECT document_id, model_id, vector FROM document_vectors
            WHERE v.passage_id IS NULL AND text_hash = p.hash LIMIT ${EQUAL_TEXTS_MAX}) equal
          WHERE equal.model_id = ${modelId}
            AND (SELECT workspace_id FROM document_contents c WHERE c.document_id = equal.document_id) = ${workspaceId}
            AND substring(equal.vector FOR 4) <> '\\x00000000' LIMIT 1) k ON true
        ORDER BY p.passage`;
    },

    /** Nothing is stored where the document was purged, or is to have other passages. */
    async put({ id, revision }: ToEmbed, modelId: number, vectors: readonly NewVector[]): Promise<void> {
      await sql`
        WITH present AS (
          SELECT document_id FROM document_contents WHERE document_id = ${id} AND revision = ${revision} FOR SHARE)
        INSERT INTO document_vectors (document_id, model_id, passage_id, text_hash, vector)
        SELECT document_id, ${modelId}::integer, passage_id, decode(hash, 'hex'), decode(vector, 'hex')
        FROM present, unnest(${vectors.map(({ passageId }) => passageId)}::bigint[],
          ${vectors.map(({ hash }) => hash)}::text[],
          ${vectors.map(({ vector }) => vector.toString('hex'))}::text[]) AS rows (passage_id, hash, vector)
        ON CONFLICT (document_id, model_id, passage_id) DO UPDATE
          SET text_hash = excluded.text_hash, vector = excluded.vector`;
    },

    /**
     * Notes that all passages of the document have vectors by the model, and removes the vectors of passages that there are
     * no more, and those that a model beside `kept` has left incomplete. From here on a search finds them. One statement, since
     * the others of the workspace wait from the document's number to its end; the passages of a revision that is ready do not
     * change.
     */
    async complete(
      { id, workspaceId, revision }: ToEmbed,
      modelId: number,
      kept: readonly number[],
    ): Promise<Completion> {
      const completed = await sql`
        WITH content AS (
          SELECT passages FROM document_contents WHERE document_id = ${id} AND revision = ${revision} FOR SHARE),
        outdated AS (
          DELETE FROM document_vectors v WHERE document_id = ${id} AND EXISTS (SELECT FROM content) AND (
            model_id = ${modelId} AND NOT EXISTS (
              SELECT FROM document_passages p WHERE p.id = v.passage_id AND p.document_id = v.document_id)
            OR NOT model_id = ANY (${kept as number[]}::integer[]) AND NOT EXISTS (
              SELECT FROM document_embeddings e WHERE e.document_id = v.document_id AND e.model_id = v.model_id))),
        whole AS (
          SELECT passages FROM content WHERE passages = (
            SELECT count(*) FROM document_vectors v JOIN document_passages p
              ON p.id = v.passage_id AND p.document_id = v.document_id
            WHERE v.document_id = ${id} AND v.model_id = ${modelId})),
        answered AS (
          INSERT INTO document_vector_workspaces (workspace_id, model_id) SELECT ${workspaceId}, ${modelId}::integer FROM whole
          ON CONFLICT DO NOTHING)
        INSERT INTO document_embeddings (document_id, model_id, workspace_id, revision, passages, sequence)
        SELECT ${id}::uuid, ${modelId}::integer, ${workspaceId}, ${revision}::integer, passages,
          document_feed_note(${workspaceId}, ${id}::uuid) FROM whole
        ON CONFLICT (document_id, model_id) DO UPDATE SET revision = excluded.revision,
          passages = excluded.passages, sequence = excluded.sequence
        RETURNING document_id`;
      return completed.length > 0 ? 'complete' : 'changed';
    },

    /**
     * Queues documents without complete vectors by the model and without a job, in the order of their ids; returns where to go on,
     * undefined at the end.
     */
    async queueUnembedded(
      modelId: number,
      { after, scan, limit }: { after: string; scan: number; limit: number },
    ): Promise<{ queued: number; next: string | undefined }> {
      const [row] = await sql<
        { queued: number; scanned: number; next: string | null; last: string | null }[]
      >`
        WITH page AS (
          SELECT document_id, workspace_id, revision, state, passages FROM document_contents
          WHERE document_id > ${after} ORDER BY document_id LIMIT ${scan}),
        unembedded AS (
          SELECT document_id, workspace_id FROM page c WHERE state = 'ready' AND passages > 0 AND NOT EXISTS (
            SELECT FROM document_embeddings e
            WHERE e.document_id = c.document_id AND e.model_id = ${modelId} AND e.revision = c.revision)
            AND NOT ${isQueued(sql, [EMBEDDING, EARLIER_EMBEDDING], sql`c.document_id`)}
          ORDER BY document_id LIMIT ${limit}),
        queued AS (${enqueue(
          sql,
          EARLIER_EMBEDDING,
          sql`SELECT jsonb_build_object('document', document_id, 'workspace', workspace_id) FROM unembedded`,
        )})
        SELECT (SELECT count(*)::int FROM unembedded) AS queued, (SELECT count(*)::int FROM page) AS scanned,
          (SELECT max(document_id::text) FROM unembedded) AS last, (SELECT max(document_id::text) FROM page) AS next`;
      if (row === undefined) throw new Error('a statement without a row');
      const more = row.scanned === scan || row.queued === limit;
      const next = row.queued === limit ? row.last : row.next;
      return { queued: row.queued, next: more ? (next ?? undefined) : undefined };
    },

    /** Whether another model answers in a workspace. */
    async isSwitching(modelId: number): Promise<boolean> {
      const rows = await sql`SELECT FROM document_vector_workspaces WHERE model_id <> ${modelId} LIMIT 1`;
      return rows.length > 0;
    },

    /** The model answers from now on in workspaces where it has all documents that the one before has. */
    async switchTo(modelId: number): Promise<string[]> {
      const rows = await sql<{ id: string }[]>`
        UPDATE document_vector_workspaces w SET model_id = ${modelId}
        WHERE model_id <> ${modelId} AND NOT EXISTS (
          SELECT FROM document_embeddings e WHERE e.workspace_id = w.workspace_id AND e.model_id = w.model_id
            AND NOT EXISTS (SELECT FROM document_embeddings n WHERE n.document_id = e.document_id AND n.model_id = ${modelId}))
        RETURNING workspace_id AS id`;
      return rows.map(({ id }) => id);
    },

    /** Deletes vectors of a few documents by models that neither answer nor are to; false where there are none left. */
    async deleteSuperseded(modelId: number): Promise<boolean> {
      const rows = await sql`
        WITH superseded AS (
          SELECT e.document_id, e.model_id FROM document_vector_workspaces w JOIN document_embeddings e USING (workspace_id)
          WHERE e.model_id <> w.model_id AND e.model_id <> ${modelId} LIMIT ${SUPERSEDED_DOCUMENTS_A_STATEMENT}),
        vectors AS (
          DELETE FROM document_vectors v USING superseded s WHERE v.document_id = s.document_id AND v.model_id = s.model_id)
        DELETE FROM document_embeddings e USING superseded s
        WHERE e.document_id = s.document_id AND e.model_id = s.model_id RETURNING e.document_id`;
      return rows.length > 0;
    },
  };
}
