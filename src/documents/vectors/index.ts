// The vectors of passages: jobs embed them, and searches find the nearest ones.

import { LRUCache } from 'lru-cache';
import type { Embeddings } from '../../core/embed-texts.ts';
import type { Job } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { createSemaphore } from '../../core/semaphore.ts';
import type { Metric } from '../../http/metrics.ts';
import type { ReadinessCheck } from '../../http/readiness.ts';
import { cancelledBy, type Sql } from '../../infra/postgres/client.ts';
import type { JobKind, JobQueue } from '../../infra/postgres/job-queue.ts';
import { createCatchUpJob } from '../jobs/catch-up.ts';
import { createEmbeddingCatchUp } from './catch-up.ts';
import { createEmbedDocument } from './embed-document.ts';
import { createGraphEngine } from './graphs/engine.ts';
import { createGraphStore } from './graphs/store.ts';
import { createGraphUpkeep } from './graphs/upkeep.ts';
import { vectorsCheck, vectorsMetrics } from './health.ts';
import { EMBEDDING_LEASE_MS, EMBEDDING_POLL_MS, EMBEDDING_TURN_MS, QUERIES_KEPT_MAX } from './limits.ts';
import { type Answering, createLoading } from './loading.ts';
import type { Query } from './quantise.ts';
import { createSearchVectors, type SearchOutcome, type SearchVectors } from './search.ts';
import { createSpaces } from './spaces.ts';
import { createVectorStore, EARLIER_EMBEDDING, EMBEDDING } from './store.ts';

export type VectorsDeps = {
  sql: Sql;
  /** As `connectForSearch` makes it. */
  searchSql: Sql;
  queue: JobQueue;
  embeddings: Embeddings;
  settings: VectorsSettings & { catchUpIntervalSeconds: number };
  log: Logger;
};

export type VectorsSettings = {
  memoryBytesMax: number;
  /** Passages of a workspace from which on pgvector searches its vectors, where the database has that; 0: never. */
  graphPassagesMin: number;
};

export function createVectors(deps: VectorsDeps): {
  searchVectors: SearchVectors;
  jobs: Job[];
  checks: ReadinessCheck[];
  metrics: Metric[];
  /** Looks for documents that are to be embedded at once: one was queued. */
  wake(): void;
  /** Looks whether another model is to embed from now on. */
  reload(): void;
} {
  const { sql, queue, embeddings, log } = deps;
  const store = createVectorStore(sql);
  const ending = new AbortController();
  const turns = createSemaphore({
    runningMax: 1,
    waitingMax: Number.POSITIVE_INFINITY,
    refuse: 'Too many documents are to be embedded',
  });
  const embedDocument = createEmbedDocument({
    store,
    embeddings,
    turns,
    log,
    turnMs: EMBEDDING_TURN_MS,
    ending: ending.signal,
  });
  const kind: Omit<JobKind, 'kind'> = {
    batchMax: 1,
    handle: (jobs) =>
      Promise.all(jobs.map(({ payload }) => embedDocument((payload as { document: string }).document))),
    leaseMs: EMBEDDING_LEASE_MS,
    pollMs: EMBEDDING_POLL_MS,
    // Only the model's absence delays it, or a text that it refuses, which another model may take.
    attemptsMax: Number.POSITIVE_INFINITY,
  };
  const wake = queue.register({ ...kind, kind: EMBEDDING });
  const wakeEarlier = queue.register({ ...kind, kind: EARLIER_EMBEDDING });
  const catchUp = createCatchUpJob({
    sql,
    name: 'documents.embedding-catch-up',
    intervalMs: deps.settings.catchUpIntervalSeconds * 1000,
    run: createEmbeddingCatchUp({ store, embeddings, queue, wake: wakeEarlier, log }),
    log,
  });
  const graphs = createCatchUpJob({
    sql,
    name: 'documents.vector-graphs',
    intervalMs: deps.settings.catchUpIntervalSeconds * 1000,
    run: createGraphUpkeep({
      sql,
      store: createGraphStore(sql),
      passagesMin: deps.settings.graphPassagesMin,
      memoryBytesMax: deps.settings.memoryBytesMax,
      log,
    }),
    log,
  });
  const { spaces, ...search } = createSearching(deps);
  return {
    ...search,
    jobs: [
      catchUp,
      graphs,
      {
        name: 'documents.vectors',
        start: () => undefined,
        async stop() {
          ending.abort();
          spaces.end();
        },
      },
    ],
    wake,
    reload: () => void catchUp.settle?.(),
  };
}

function createSearching({ sql, searchSql, embeddings, settings, log }: VectorsDeps) {
  const searches = new Map<SearchOutcome, number>();
  const loading = createLoading(sql);
  const spaces = createSpaces({ loading, bytesMax: settings.memoryBytesMax, log });
  const graphs = createGraphEngine((signal) => cancelledBy(searchSql, signal));
  return {
    spaces,
    searchVectors: createSearchVectors({
      loading,
      engineFor(answering: Answering) {
        if (answering.graph === null) return spaces.engine;
        spaces
          .release(answering)
          .catch((error: unknown) => log.warn({ err: error }, 'vectors stay in memory'));
        return graphs;
      },
      embeddings,
      log,
      queries: new LRUCache<string, Query>({ max: QUERIES_KEPT_MAX }),
      count: (outcome) => void searches.set(outcome, (searches.get(outcome) ?? 0) + 1),
    }),
    checks: [vectorsCheck(spaces)],
    metrics: vectorsMetrics({ spaces, searches }),
  };
}
