// Vectors in the database, of which pgvector finds the nearest: by the graph of a workspace (HNSW), or exactly. Workspaces of many
// passages have a graph, and those that the memory of a process has no room for, where the database has pgvector. A job makes it
// while the memory of processes answers. From the moment at which it is registered, triggers keep it current.

import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { RunOutcome } from '../../core/periodic.ts';
import { abortable } from '../../core/wait.ts';
import type { Fragment, Reserved, Sql, Transaction } from '../../infra/postgres/client.ts';
import { FIRST_ID } from '../rows.ts';
import { waitForEarlierTransactions } from '../transactions.ts';
import type { VectorEngine } from './engine.ts';
import {
  GRAPH_DIMENSIONS_MAX,
  GRAPH_DOCUMENTS_AT_ONCE,
  GRAPH_FOUND_MAX,
  GRAPH_MEMORY_MIB,
} from './limits.ts';
import { rowBytes } from './memory.ts';

/** `statements`: those that are cancelled when the signal aborts, on connections as `connectForSearch` makes them. */
export const createGraphEngine = (statements: (signal: AbortSignal) => Transaction): VectorEngine => ({
  async open({ graph, modelId, dimensions }) {
    if (graph === null) throw new Error('this workspace has no graph');
    return async ({ components }, { limit, documents }, signal) => {
      const sql = statements(signal);
      // Components are integers that a halfvec holds as they are, so that scores are those of the scan in memory.
      const query = sql`${`[${components.join()}]`}::text::halfvec`;
      const score = sql`(-(components <#> ${query}))::real * scale`;
      const find = async (rows: Fragment, how: string) => {
        const found = await sql<{ id: number | bigint; score: number }[]>`${rows}`;
        return { nearest: found.map((row) => ({ id: BigInt(row.id), score: Math.fround(row.score) })), how };
      };
      if (documents === undefined && limit <= GRAPH_FOUND_MAX) {
        // The index has the order of cosines: those are almost the scores, by which the found ones are ordered then.
        const type = sql.unsafe(`halfvec(${dimensions})`);
        const rows = sql`
          WITH found AS MATERIALIZED (
            SELECT passage_id, components, scale FROM document_graph_vectors WHERE graph_id = ${graph}
            ORDER BY components::${type} <=> ${query}::${type} LIMIT ${limit})
          SELECT passage_id AS id, ${score} AS score FROM found ORDER BY 2 DESC, 1`;
        const found = await find(rows, 'pgvector, HNSW');
        if (found.nearest.length === limit) return found;
      }
      const among =
        documents === undefined
          ? sql`graph_id = ${graph}`
          : sql`document_id = ANY (${documents as string[]}::uuid[]) AND model_id = ${modelId}`;
      const rows = sql`
        SELECT passage_id AS id, ${score} AS score FROM document_graph_vectors WHERE ${among}
        ORDER BY 2 DESC, 1 LIMIT ${limit}`;
      return find(rows, 'pgvector, exact');
    };
  },
});

/** The vectors of a workspace by a model. `id`: the number of their graph, null where they have none. */
type State = {
  id: number | null;
  workspaceId: string;
  modelId: number;
  dimensions: number;
  passages: number;
  /** `broken`: a process that made the index was killed, and the server has ended that. */
  index: 'none' | 'making' | 'broken' | 'valid';
};

/** The first version with halfvec and with scans that go on where what was found is not enough. */
const PGVECTOR_MIN = '0.8';

/**
 * A workspace has a graph from `passagesMin` passages on (0: none has), or from where `memoryBytesMax` ends, and down to half of
 * that.
 */
export function createGraphMaintenance(deps: {
  sql: Sql;
  passagesMin: number;
  memoryBytesMax: number;
  log: Logger;
}) {
  const { sql, passagesMin, log } = deps;

  function isWanted({ id, passages, dimensions }: State): boolean {
    const least = Math.min(passagesMin, deps.memoryBytesMax / rowBytes(dimensions));
    return passagesMin > 0 && passages >= least * (id === null ? 1 : 0.5);
  }

  const list = () => sql<State[]>`
    SELECT g.id, workspace_id AS "workspaceId", model_id AS "modelId", m.dimensions,
      coalesce(e.passages, 0)::float8 AS passages,
      CASE WHEN i.indexrelid IS NULL THEN 'none' WHEN indisvalid THEN 'valid'
        WHEN EXISTS (SELECT FROM pg_stat_progress_create_index p WHERE p.index_relid = i.indexrelid) THEN 'making'
        ELSE 'broken' END AS index
    FROM (SELECT workspace_id, model_id, sum(passages) AS passages FROM document_embeddings GROUP BY 1, 2) e
    FULL JOIN document_vector_graphs g USING (workspace_id, model_id)
    JOIN document_vector_models m ON m.id = model_id
    LEFT JOIN pg_index i ON i.indexrelid = to_regclass('document_graph_vectors_' || g.id)
    WHERE g.id IS NOT NULL OR m.dimensions <= ${GRAPH_DIMENSIONS_MAX}`;

  /** Whether pgvector is at hand: it has been created in the database, or may be. */
  async function isAvailable(): Promise<boolean> {
    const [row] = await sql<{ available: boolean }[]>`
      SELECT (e.oid IS NULL OR to_regtype('halfvec') IS NOT NULL) AND string_to_array(
          regexp_replace(coalesce(e.extversion, a.default_version), '[^0-9.].*', ''), '.')::int[]
            >= string_to_array(${PGVECTOR_MIN}, '.')::int[] AS available
      FROM pg_available_extensions a LEFT JOIN pg_extension e ON e.extname = a.name WHERE a.name = 'vector'`;
    return row?.available === true;
  }

  /** Makes the extension and the table, also where the extension was dropped, and with it the column of its type. */
  async function prepare(): Promise<boolean> {
    try {
      await sql.begin(async (tx) => {
        await tx`CREATE EXTENSION IF NOT EXISTS vector`;
        const columns = await tx`
          SELECT FROM pg_attribute WHERE attrelid = to_regclass('document_graph_vectors') AND attname = 'components'`;
        if (columns.length > 0) return;
        await tx`DROP TABLE IF EXISTS document_graph_vectors`;
        await tx`
          CREATE TABLE document_graph_vectors (
            document_id uuid NOT NULL,
            model_id    integer NOT NULL,
            passage_id  bigint NOT NULL,
            graph_id    integer NOT NULL REFERENCES document_vector_graphs (id) ON DELETE CASCADE,
            scale       real NOT NULL,
            components  halfvec NOT NULL,
            PRIMARY KEY (document_id, model_id, passage_id),
            FOREIGN KEY (document_id, model_id, passage_id) REFERENCES document_vectors ON DELETE CASCADE)`;
      });
      return true;
    } catch (error) {
      const reason = messageOf(error);
      log.info({ reason }, 'pgvector cannot be created in the database; vectors are searched in memory');
      return false;
    }
  }

  /** Vectors that are stored from now on come into the graph. */
  async function register({ workspaceId, modelId }: State): Promise<void> {
    await sql`INSERT INTO document_vector_graphs (workspace_id, model_id) VALUES (${workspaceId}, ${modelId})`;
  }

  /** Adds the vectors of the next documents in the order of their ids; returns where to go on, undefined at the end. */
  async function fill(
    connection: Transaction,
    { workspaceId, modelId }: State,
    graph: number,
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
        SELECT document_id, model_id, passage_id, ${graph}::integer, document_vector_scale(vector),
          document_vector_components(vector)::halfvec
        FROM present ON CONFLICT DO NOTHING)
      SELECT max(document_id::text) AS last FROM page`;
    return row?.last ?? undefined;
  }

  async function build(connection: Reserved, state: State, signal: AbortSignal): Promise<void> {
    const { id: graph, workspaceId, passages, dimensions } = state;
    if (graph === null) return;
    if (state.index === 'broken') await dropIndex(connection, graph);
    // Transactions that have not seen the graph add nothing to it: what they have stored is found once they have ended.
    await waitForEarlierTransactions(sql, signal);
    for (let after: string | undefined = FIRST_ID; after !== undefined; ) {
      signal.throwIfAborted();
      after = await fill(connection, state, graph, after);
    }
    // It takes minutes for millions of vectors; passages can be written during this time.
    await connection.unsafe(`SET maintenance_work_mem = '${GRAPH_MEMORY_MIB}MB'`);
    await connection.unsafe(
      `CREATE INDEX CONCURRENTLY document_graph_vectors_${graph} ON document_graph_vectors
         USING hnsw ((components::halfvec(${dimensions})) halfvec_cosine_ops) WHERE graph_id = ${graph}`,
    );
    log.info({ workspace: workspaceId, passages }, 'pgvector searches these vectors from now on');
  }

  const dropIndex = (connection: Reserved, graph: number) =>
    connection.unsafe(`DROP INDEX CONCURRENTLY IF EXISTS document_graph_vectors_${graph}`);

  /** Its vectors stay in document_vectors. */
  async function retire(connection: Reserved, { id, workspaceId }: State): Promise<void> {
    await dropIndex(connection, id as number);
    await connection`DELETE FROM document_vector_graphs WHERE id = ${id}`;
    log.info({ workspace: workspaceId }, 'pgvector does not search these vectors any more');
  }

  /** A statement may take many minutes; the server ends it some time after the connection was closed. */
  async function onOwnConnection(signal: AbortSignal, run: (connection: Reserved) => Promise<void>) {
    signal.throwIfAborted();
    const connection = sql.reserve({ unlimited: true });
    try {
      await abortable(run(connection), signal);
    } finally {
      connection.release();
    }
  }

  return async (signal: AbortSignal): Promise<RunOutcome> => {
    const states = (await list()).filter((state) => state.id !== null || isWanted(state));
    if (states.length === 0 || !(await isAvailable()) || !(await prepare())) return undefined;
    const unregistered = states.filter(({ id }) => id === null);
    for (const state of unregistered) await register(state);
    if (unregistered.length > 0) return 'again';
    for (const state of states) {
      if (!isWanted(state)) await onOwnConnection(signal, (connection) => retire(connection, state));
      // A connection that is closed by now.
      else if (state.index === 'making') return 'again';
      else if (state.index !== 'valid')
        await onOwnConnection(signal, (connection) => build(connection, state, signal));
    }
    return undefined;
  };
}
