// Vectors in the database, of which pgvector finds the nearest: by the graph of the workspace (HNSW), or exactly.
//
// Components are integers that a halfvec holds as they are, so that scores are those of the scan in memory.

import type { Fragment, Transaction } from '../../../infra/postgres/client.ts';
import type { NearestPassage, VectorEngine } from '../engine.ts';
import { GRAPH_FOUND_MAX } from '../limits.ts';

type Row = { id: number | bigint; score: number };

/** `statements`: those that are cancelled when the signal aborts, on connections as `connectForSearch` makes them. */
export function createGraphEngine(statements: (signal: AbortSignal) => Transaction): VectorEngine {
  return {
    async open({ graph, modelId, dimensions }) {
      if (graph === null) throw new Error('this workspace has no graph');
      return async ({ components }, { limit, documents }, signal) => {
        const sql = statements(signal);
        const query = sql`${`[${components.join()}]`}::text::halfvec`;
        const score = sql`(-(components <#> ${query}))::real * scale`;
        if (documents === undefined && limit <= GRAPH_FOUND_MAX) {
          const found = toPassages(await nearest(sql, { graph, dimensions, query, score, limit }));
          if (found.length === limit) return { nearest: found, how: 'pgvector, HNSW' };
        }
        const among =
          documents === undefined
            ? sql`graph_id = ${graph}`
            : sql`document_id = ANY (${documents as string[]}::uuid[]) AND model_id = ${modelId}`;
        const rows = await sql<Row[]>`
          SELECT passage_id AS id, ${score} AS score FROM document_graph_vectors WHERE ${among}
          ORDER BY 2 DESC, 1 LIMIT ${limit}`;
        return { nearest: toPassages(rows), how: 'pgvector, exact' };
      };
    },
  };
}

type Asked = { graph: number; dimensions: number; query: Fragment; score: Fragment; limit: number };

/** By the index, which has the order of cosines: those are almost the scores, by which the found ones are ordered then. */
async function nearest(
  sql: Transaction,
  { graph, dimensions, query, score, limit }: Asked,
): Promise<readonly Row[]> {
  const type = sql.unsafe(`halfvec(${dimensions})`);
  return sql<Row[]>`
    WITH found AS MATERIALIZED (
      SELECT passage_id, components, scale FROM document_graph_vectors WHERE graph_id = ${graph}
      ORDER BY components::${type} <=> ${query}::${type} LIMIT ${limit})
    SELECT passage_id AS id, ${score} AS score FROM found ORDER BY 2 DESC, 1`;
}

/** The server writes a score with as many digits as distinguish it from others of 32 bits. */
const toPassages = (rows: readonly Row[]): NearestPassage[] =>
  rows.map(({ id, score }) => ({ id: BigInt(id), score: Math.fround(score) }));
