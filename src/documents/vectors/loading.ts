// The statements by which vectors come into memory, and by which a search checks that those in memory are current.

import type { Sql } from '../../infra/postgres/client.ts';
import { DOCUMENTS_A_PAGE, LOADED_AT_ONCE } from './limits.ts';

/** The vectors that answer in a workspace. */
export type Answering = {
  workspaceId: string;
  modelId: number;
  model: string;
  dimensions: number;
  /** The number of the workspace's last change, and the one up to which the tombstones of purged documents were deleted. */
  lastSequence: number;
  forgottenTo: number;
  /** The number of the graph that is ready to be searched in place of this process's memory. */
  graph: number | null;
};

type Span = Pick<Answering, 'workspaceId' | 'modelId'> & { from: number; to: number };

export type Complete = { id: string; sequence: number };

export type Loading = ReturnType<typeof createLoading>;

export function createLoading(sql: Sql) {
  return {
    /** Undefined where nothing has been embedded yet. */
    async answering(workspaceId: string): Promise<Answering | undefined> {
      const [row] = await sql<Answering[]>`
        SELECT w.workspace_id AS "workspaceId", m.id AS "modelId", m.name AS model, m.dimensions,
          f.last_sequence AS "lastSequence", f.forgotten_to AS "forgottenTo", g.id AS graph
        FROM document_vector_workspaces w JOIN document_vector_models m ON m.id = w.model_id
        JOIN document_feeds f ON f.workspace_id = w.workspace_id
        LEFT JOIN document_vector_graphs g ON g.workspace_id = w.workspace_id AND g.model_id = w.model_id AND g.ready
        WHERE w.workspace_id = ${workspaceId}`;
      return row;
    },

    /** How many vectors the documents have that were completed in the span. */
    async count({ workspaceId, modelId, from, to }: Span): Promise<number> {
      const [row] = await sql<{ count: number }[]>`
        SELECT coalesce(sum(passages), 0)::float8 AS count FROM document_embeddings
        WHERE workspace_id = ${workspaceId} AND model_id = ${modelId} AND sequence > ${from} AND sequence <= ${to}`;
      return row?.count ?? 0;
    },

    /** Documents that changed in the span, and have no vectors since, or others: a page of them, in order. */
    async outdated({ workspaceId, modelId, from, to }: Span): Promise<Complete[]> {
      return sql<Complete[]>`
        SELECT c.document_id AS id, c.sequence FROM document_changes c LEFT JOIN document_embeddings e
          ON e.document_id = c.document_id AND e.model_id = ${modelId}
        WHERE c.workspace_id = ${workspaceId} AND c.sequence > ${from} AND c.sequence <= ${to}
          AND (e.document_id IS NULL OR e.sequence > ${from})
        ORDER BY c.sequence LIMIT ${DOCUMENTS_A_PAGE}`;
    },

    /** Documents whose vectors were completed in the span: a page of them, in order. */
    async complete({ workspaceId, modelId, from, to }: Span): Promise<(Complete & { passages: number })[]> {
      return sql<(Complete & { passages: number })[]>`
        SELECT document_id AS id, sequence, passages FROM document_embeddings
        WHERE workspace_id = ${workspaceId} AND model_id = ${modelId} AND sequence > ${from} AND sequence <= ${to}
        ORDER BY sequence LIMIT ${DOCUMENTS_A_PAGE}`;
    },

    /** The vectors of documents, as rows of memory.ts, in parts. */
    async *rows(modelId: number, documents: readonly string[]): AsyncGenerator<Buffer> {
      let after = { document: documents.toSorted()[0], passage: 0 as number | bigint };
      for (;;) {
        const [part] = await sql<
          { rows: Buffer | null; count: number; document: string; passage: number | bigint }[]
        >`
          WITH part AS (
            SELECT document_id, passage_id, uuid_send(document_id) || int8send(passage_id) || vector AS row
            FROM document_vectors
            WHERE model_id = ${modelId} AND document_id = ANY (${documents as string[]}::uuid[])
              AND (document_id, passage_id) > (${after.document ?? null}::uuid, ${after.passage}::bigint)
            ORDER BY document_id, passage_id LIMIT ${LOADED_AT_ONCE})
          SELECT string_agg(row, ''::bytea ORDER BY document_id, passage_id) AS rows, count(*)::int AS count,
            (SELECT document_id FROM part ORDER BY document_id DESC LIMIT 1) AS document,
            (SELECT passage_id FROM part ORDER BY document_id DESC, passage_id DESC LIMIT 1) AS passage
          FROM part`;
        if (part === undefined || part.rows === null) return;
        yield part.rows;
        if (part.count < LOADED_AT_ONCE) return;
        after = part;
      }
    },
  };
}
