// Searches by vectors over a database, and what they are to find.

import { newRandomId } from '../../../src/core/ids.ts';
import { createSemaphore } from '../../../src/core/semaphore.ts';
import { createEmbedDocument } from '../../../src/documents/vectors/embed-document.ts';
import { createGraphEngine } from '../../../src/documents/vectors/graphs.ts';
import { createLoading } from '../../../src/documents/vectors/loading.ts';
import { toQuery } from '../../../src/documents/vectors/quantise.ts';
import { createSearchVectors, type SearchVectors } from '../../../src/documents/vectors/search.ts';
import { createSpaces } from '../../../src/documents/vectors/spaces.ts';
import { createVectorStore } from '../../../src/documents/vectors/store.ts';
import type { Sql } from '../../../src/infra/postgres/client.ts';
import { silentLog } from '../../support/database.ts';
import { createLibrary, type FakeModel, vectorOf } from './library.ts';
import { findPlainly } from './plain.ts';

const log = silentLog as never;

export function searching(sql: Sql, model: FakeModel, { bytesMax = 2 ** 26 } = {}) {
  const outcomes: string[] = [];
  const loading = createLoading(sql);
  const spaces = createSpaces({ loading, bytesMax, log });
  const graphs = createGraphEngine(() => sql);
  const vectors = createSearchVectors({
    loading,
    embeddings: model,
    log,
    engineFor: ({ graph }) => (graph === null ? spaces.engine : graphs),
  });
  const search: SearchVectors = async (...request) => {
    for (;;) {
      const before = { ...vectors.outcomes };
      const found = await vectors.searchVectors(...request);
      const outcome = Object.entries(vectors.outcomes).find(
        ([name, count]) => count > before[name as keyof typeof before],
      )?.[0];
      // A busy machine loads for longer than a search waits, and a later one finds the vectors.
      if (outcome === 'loading') continue;
      if (outcome !== undefined) outcomes.push(outcome);
      return found;
    }
  };
  return { search, spaces, outcomes, [Symbol.dispose]: spaces.end };
}

export function setting(sql: Sql, model: FakeModel) {
  const workspaceId = `w${newRandomId().replaceAll(/[^a-z0-9]/g, '')}`;
  const turns = createSemaphore({ runningMax: 1, waitingMax: 100, refuse: '' });
  const ending = new AbortController().signal;
  return {
    workspaceId,
    library: createLibrary(sql, workspaceId),
    embed: createEmbedDocument({
      store: createVectorStore(sql),
      embeddings: model,
      turns,
      log,
      ending,
      turnMs: 60_000,
    }),
  };
}

/** What a search is to find, read from the database. */
export async function expected(
  sql: Sql,
  workspaceId: string,
  { query, limit, documents }: { query: string; limit: number; documents?: ReadonlySet<string> },
) {
  const rows = await sql<{ document: string; id: number; stored: Buffer }[]>`
    SELECT v.document_id AS document, v.passage_id AS id, v.vector AS stored
    FROM document_vectors v JOIN document_embeddings e ON e.document_id = v.document_id AND e.model_id = v.model_id
    JOIN document_passages p ON p.id = v.passage_id WHERE e.workspace_id = ${workspaceId}`;
  const { components, scale } = toQuery(vectorOf(query));
  const scan = { components, limit, documents: documents && [...documents] };
  const plain = rows.map((row) => ({ ...row, id: BigInt(row.id) }));
  return findPlainly(plain, scan).map(({ id, score }) => ({ passageId: String(id), score: score * scale }));
}
