// The statements that bring vectors into memory, and that tell a search whether those in memory are current.

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
  /** The number of the graph that is ready to be searched instead of this process's memory. */
  graph: number | null;
};

/** Changes of a workspace after `from`, up to and with `to`. */
type Span = Pick<Answering, 'workspaceId' | 'modelId'> & { from: number; to: number };

export function createLoading(sql: Sql) {
  return {
    /** Undefined if nothing has been embedded yet. */
    async answering(workspaceId: string): Promise<Answering | undefined> {
      const [row] = await sql<Answering[]>`
        SELECT w.workspace_id AS "workspaceId", m.id AS "modelId", m.name AS model, m.dimensions,
          f.last_sequence AS "lastSequence", f.forgotten_to AS "forgottenTo", g.id AS graph
        FROM document_vector_workspaces w JOIN document_vector_models m ON m.id = w.model_id
        JOIN document_feeds f ON f.workspace_id = w.workspace_id
        LEFT JOIN document_vector_graphs g ON g.workspace_id = w.workspace_id AND g.model_id = w.model_id AND EXISTS (
          SELECT FROM pg_index WHERE indexrelid = to_regclass('document_graph_vectors_' || g.id) AND indisvalid)
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

    /** Documents that changed in the span, and have no vectors since, or others: in pages. */
    async *outdated({ workspaceId, modelId, from, to }: Span): AsyncGenerator<string[]> {
      for (let after = from; ; ) {
        const page = await sql<{ id: string; sequence: number }[]>`
          SELECT c.document_id AS id, c.sequence FROM document_changes c LEFT JOIN document_embeddings e
            ON e.document_id = c.document_id AND e.model_id = ${modelId}
          WHERE c.workspace_id = ${workspaceId} AND c.sequence > ${after} AND c.sequence <= ${to}
            AND (e.document_id IS NULL OR e.sequence > ${from})
          ORDER BY c.sequence LIMIT ${DOCUMENTS_A_PAGE}`;
        if (page.length === 0) return;
        yield page.map(({ id }) => id);
        after = page.at(-1)?.sequence ?? after;
      }
    },

    /** The vectors of documents that were completed in the span, as stored rows of memory.ts: in parts. */
    async *rows({ workspaceId, modelId, from, to }: Span): AsyncGenerator<Buffer> {
      let after = { sequence: from + 1, passage: -1 as number | bigint };
      for (;;) {
        const [part] = await sql<
          { rows: Buffer | null; count: number; sequence: number; passage: number | bigint }[]
        >`
          WITH part AS (
            SELECT e.sequence, passage_id, uuid_send(e.document_id) || int8send(passage_id) || vector AS row
            FROM document_embeddings e, LATERAL (
              -- The order keeps the planner from joining whole tables.
              SELECT passage_id, vector FROM document_vectors v
              WHERE v.document_id = e.document_id AND v.model_id = e.model_id
                AND (e.sequence > ${after.sequence} OR passage_id > ${after.passage}::bigint)
              ORDER BY passage_id) stored
            WHERE e.workspace_id = ${workspaceId} AND e.model_id = ${modelId}
              AND e.sequence >= ${after.sequence} AND e.sequence <= ${to}
            ORDER BY e.sequence, passage_id LIMIT ${LOADED_AT_ONCE})
          SELECT string_agg(row, ''::bytea) AS rows, count(*)::int AS count,
            (SELECT sequence FROM part ORDER BY sequence DESC LIMIT 1) AS sequence,
            (SELECT passage_id FROM part ORDER BY sequence DESC, passage_id DESC LIMIT 1) AS passage
          FROM part`;
        if (part === undefined || part.rows === null) return;
        yield part.rows;
        if (part.count < LOADED_AT_ONCE) return;
        after = part;
      }
    },
  };
}
