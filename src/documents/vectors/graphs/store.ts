// The statements by which workspaces get their graphs in the database, and lose them.

import type { Reserved, Sql, Transaction } from '../../../infra/postgres/client.ts';
import { GRAPH_DIMENSIONS_MAX, GRAPH_DOCUMENTS_AT_ONCE, GRAPH_MEMORY_MIB } from '../limits.ts';

/** Vectors of a workspace by a model. `id`: that of their graph, null where they have none. */
export type GraphState = {
  id: number | null;
  workspaceId: string;
  modelId: number;
  dimensions: number;
  passages: number;
  ready: boolean;
};

/** The first version with halfvec and with scans that go on where what was found is not enough. */
const PGVECTOR_MIN = '0.8';

const indexOf = (graph: number): string => `document_graph_vectors_${graph}`;

export type GraphStore = ReturnType<typeof createGraphStore>;

export function createGraphStore(sql: Sql) {
  return {
    /** Those that have a graph, and those that can have one. */
    async list(): Promise<GraphState[]> {
      return sql<GraphState[]>`
        SELECT g.id, workspace_id AS "workspaceId", model_id AS "modelId", m.dimensions,
          coalesce(e.passages, 0)::float8 AS passages, coalesce(g.ready, false) AS ready
        FROM (SELECT workspace_id, model_id, sum(passages) AS passages FROM document_embeddings GROUP BY 1, 2) e
        FULL JOIN document_vector_graphs g USING (workspace_id, model_id)
        JOIN document_vector_models m ON m.id = model_id
        WHERE g.id IS NOT NULL OR m.dimensions <= ${GRAPH_DIMENSIONS_MAX}`;
    },

    /** Whether pgvector is at hand: it has been created in the database, or may be. */
    async isAvailable(): Promise<boolean> {
      const [row] = await sql<{ available: boolean }[]>`
        SELECT (e.oid IS NULL OR to_regtype('halfvec') IS NOT NULL) AND string_to_array(
            regexp_replace(coalesce(e.extversion, a.default_version), '[^0-9.].*', ''), '.')::int[]
              >= string_to_array(${PGVECTOR_MIN}, '.')::int[] AS available
        FROM pg_available_extensions a LEFT JOIN pg_extension e ON e.extname = a.name WHERE a.name = 'vector'`;
      return row?.available === true;
    },

    /** Makes what graphs need. Rejects where the role may not create the extension. */
    async prepare(): Promise<void> {
      await sql`CREATE EXTENSION IF NOT EXISTS vector`;
      await sql`
        CREATE TABLE IF NOT EXISTS document_graph_vectors (
          document_id uuid NOT NULL,
          model_id    integer NOT NULL,
          passage_id  bigint NOT NULL,
          graph_id    integer NOT NULL REFERENCES document_vector_graphs (id) ON DELETE CASCADE,
          scale       real NOT NULL,
          components  halfvec NOT NULL,
          PRIMARY KEY (document_id, model_id, passage_id),
          FOREIGN KEY (document_id, model_id, passage_id) REFERENCES document_vectors ON DELETE CASCADE)`;
    },

    /** Vectors that are stored from now on come into the graph. */
    async add({ workspaceId, modelId }: Pick<GraphState, 'workspaceId' | 'modelId'>): Promise<void> {
      await sql`INSERT INTO document_vector_graphs (workspace_id, model_id) VALUES (${workspaceId}, ${modelId})`;
    },

    /** Adds the vectors of the next documents in the order of their ids; returns where to go on, undefined at the end. */
    async fill(
      connection: Transaction,
      { id, workspaceId, modelId }: GraphState,
      after: string,
    ): Promise<string | undefined> {
      const [row] = await connection<{ last: string | null }[]>`
        WITH page AS (
          SELECT document_id FROM document_contents WHERE workspace_id = ${workspaceId} AND document_id > ${after}
          ORDER BY document_id LIMIT ${GRAPH_DOCUMENTS_AT_ONCE} FOR KEY SHARE),
        present AS MATERIALIZED (
          SELECT v.* FROM page JOIN document_vectors v USING (document_id) WHERE model_id = ${modelId}
          FOR KEY SHARE OF v),
        added AS (
          INSERT INTO document_graph_vectors (document_id, model_id, passage_id, graph_id, scale, components)
          SELECT document_id, model_id, passage_id, ${id}::integer, document_vector_scale(vector),
            document_vector_components(vector)::halfvec
          FROM present ON CONFLICT DO NOTHING)
        SELECT max(document_id::text) AS last FROM page`;
      return row?.last ?? undefined;
    },

    /** `broken`: a process that made it was killed, and the server has ended that. */
    async indexState(graph: number): Promise<'none' | 'making' | 'broken' | 'valid'> {
      const [row] = await sql<{ valid: boolean; making: boolean }[]>`
        SELECT indisvalid AS valid, EXISTS (
          SELECT FROM pg_stat_progress_create_index p WHERE p.index_relid = indexrelid) AS making
        FROM pg_index WHERE indexrelid = to_regclass(${indexOf(graph)})`;
      if (row === undefined) return 'none';
      return row.valid ? 'valid' : row.making ? 'making' : 'broken';
    },

    /** Takes minutes where there are millions of vectors; writing goes on meanwhile. */
    async createIndex(connection: Reserved, graph: number, dimensions: number): Promise<void> {
      await connection.unsafe(`SET maintenance_work_mem = '${GRAPH_MEMORY_MIB}MB'`);
      await connection.unsafe(
        `CREATE INDEX CONCURRENTLY ${indexOf(graph)} ON document_graph_vectors
           USING hnsw ((components::halfvec(${dimensions})) halfvec_cosine_ops) WHERE graph_id = ${graph}`,
      );
    },

    async dropIndex(connection: Reserved, graph: number): Promise<void> {
      await connection.unsafe(`DROP INDEX CONCURRENTLY IF EXISTS ${indexOf(graph)}`);
    },

    /** From now on searches use it, or no more. */
    async setReady(graph: number, ready: boolean): Promise<void> {
      await sql`UPDATE document_vector_graphs SET ready = ${ready} WHERE id = ${graph}`;
    },

    /** With its vectors, which stay in document_vectors. */
    async remove(connection: Reserved, graph: number): Promise<void> {
      await connection`DELETE FROM document_vector_graphs WHERE id = ${graph}`;
    },

    /** For a database that has lost the extension, or was restored where there is none. */
    async removeAll(): Promise<void> {
      await sql`DROP TABLE IF EXISTS document_graph_vectors`;
      await sql`DELETE FROM document_vector_graphs`;
    },
  };
}
