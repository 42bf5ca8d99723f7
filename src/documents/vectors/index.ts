// The vectors of passages: jobs embed them, and searches find the nearest ones.

import type { Embeddings } from '../../core/embed-texts.ts';
import type { Job } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { createSemaphore } from '../../core/semaphore.ts';
import { counter, gauge } from '../../http/metrics.ts';
import type { ReadinessCheck } from '../../http/readiness.ts';
import { cancelledBy, type Sql } from '../../infra/postgres/client.ts';
import type { JobQueue } from '../../infra/postgres/job-queue.ts';
import { createCatchUpJob } from '../jobs/catch-up.ts';
import { createEmbeddingCatchUp } from './catch-up.ts';
import { createEmbedDocument } from './embed-document.ts';
import { createGraphEngine, createGraphMaintenance } from './graphs.ts';
import { EMBEDDING_LEASE_MS, EMBEDDING_POLL_MS, EMBEDDING_TURN_MS } from './limits.ts';
import { createLoading } from './loading.ts';
import { createSearchVectors } from './search.ts';
import { createSpaces } from './spaces.ts';
import { createVectorStore, EARLIER_EMBEDDING, EMBEDDING } from './store.ts';

export type VectorsSettings = {
  memoryBytesMax: number;
  /** Passages of a workspace from which on pgvector searches its vectors, where the database has that; 0: never. */
  graphPassagesMin: number;
};

export function createVectors(deps: {
  sql: Sql;
  /** As `connectForSearch` makes it. */
  searchSql: Sql;
  queue: JobQueue;
  embeddings: Embeddings;
  settings: VectorsSettings & { catchUpIntervalSeconds: number };
  log: Logger;
}) {
  const { sql, searchSql, queue, embeddings, log } = deps;
  const { memoryBytesMax, graphPassagesMin: passagesMin, catchUpIntervalSeconds } = deps.settings;
  const store = createVectorStore(sql);
  const ending = new AbortController();

  const embedDocument = createEmbedDocument({
    store,
    embeddings,
    turns: createSemaphore({
      runningMax: 1,
      waitingMax: Number.POSITIVE_INFINITY,
      refuse: 'Too many documents are to be embedded',
    }),
    turnMs: EMBEDDING_TURN_MS,
    log,
    ending: ending.signal,
  });
  const register = (kind: string) =>
    queue.register({
      kind,
      batchMax: 1,
      handle: (jobs) =>
        Promise.all(jobs.map(({ payload }) => embedDocument((payload as { document: string }).document))),
      leaseMs: EMBEDDING_LEASE_MS,
      pollMs: EMBEDDING_POLL_MS,
      // Only the model's absence delays it, or a text that it refuses, which another model may take.
      attemptsMax: Number.POSITIVE_INFINITY,
    });
  const wake = register(EMBEDDING);
  const wakeEarlier = register(EARLIER_EMBEDDING);
  const periodic = (name: string, run: ReturnType<typeof createEmbeddingCatchUp>) =>
    createCatchUpJob({ sql, name, intervalMs: catchUpIntervalSeconds * 1000, run, log });
  const catchUp = periodic(
    'documents.embedding-catch-up',
    createEmbeddingCatchUp({ store, embeddings, queue, wake: wakeEarlier, log }),
  );

  const loading = createLoading(sql);
  const spaces = createSpaces({ loading, bytesMax: memoryBytesMax, log });
  const graphs = createGraphEngine((signal) => cancelledBy(searchSql, signal));
  const { searchVectors, outcomes } = createSearchVectors({
    loading,
    engineFor(answering) {
      if (answering.graph === null) return spaces.engine;
      spaces.release(answering).catch((error: unknown) => log.warn({ err: error }, 'vectors stay in memory'));
      return graphs;
    },
    embeddings,
    log,
  });

  const check: ReadinessCheck = {
    name: 'vectors',
    essential: false,
    across: { workspaces: 'largest', passages: 'sum', bytes: 'sum', without_room: 'largest' },
    check: async () => {
      const { loaded: workspaces, withoutRoom, vectors: passages, bytes } = spaces.metrics();
      if (withoutRoom === 0) return { state: 'ready', workspaces, passages, bytes };
      const detail =
        'workspaces are searched by words alone: VECTORS_MEMORY_BYTES_MAX leaves no room for them';
      return { state: 'degraded', detail, workspaces, passages, bytes, without_room: withoutRoom };
    },
  };
  return {
    searchVectors,
    jobs: [
      catchUp,
      periodic('documents.vector-graphs', createGraphMaintenance({ sql, passagesMin, memoryBytesMax, log })),
      {
        name: 'documents.vectors',
        start: () => undefined,
        async stop() {
          ending.abort();
          spaces.end();
        },
      } satisfies Job,
    ],
    checks: [check],
    metrics: [
      gauge(
        'atrium_vectors_memory_bytes',
        'Memory in which vectors are searched.',
        () => spaces.metrics().bytes,
      ),
      gauge('atrium_vectors_passages', 'Passages whose vectors are in it.', () => spaces.metrics().vectors),
      counter('atrium_vectors_searches_total', 'Searches by vectors, by how they ended.', () =>
        Object.entries(outcomes).map(([outcome, value]) => ({ labels: { outcome }, value })),
      ),
    ],
    /** Looks for documents that are to be embedded at once: one was queued. */
    wake,
    /** Looks whether another model is to embed from now on. */
    reload: () => void catchUp.settle?.(),
  };
}
