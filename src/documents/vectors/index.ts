// The vectors of passages: jobs embed them, and searches find the nearest ones.

import { LRUCache } from 'lru-cache';
import type { Embeddings } from '../../core/embed-texts.ts';
import type { Job } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { createPeriodic } from '../../core/periodic.ts';
import { createSemaphore } from '../../core/semaphore.ts';
import { sleep } from '../../core/wait.ts';
import type { ReadinessCheck } from '../../http/health.ts';
import type { Metric } from '../../http/metrics.ts';
import type { Sql } from '../../infra/postgres/client.ts';
import { exclusively } from '../../infra/postgres/exclusive.ts';
import type { JobQueue } from '../../infra/postgres/job-queue.ts';
import type { JobKind } from '../../infra/postgres/job-worker.ts';
import { createCatchUp } from '../jobs/catch-up.ts';
import { createEmbedDocument } from './embed-document.ts';
import { vectorsCheck, vectorsMetrics } from './health.ts';
import {
  EARLIER_EMBEDDING_POLL_MS,
  EMBEDDING_LEASE_MS,
  EMBEDDING_POLL_MS,
  QUERIES_KEPT_MAX,
  SWITCH_PAUSE_MS,
  SWITCH_PAUSE_MS_MAX,
  THREADS_MAX,
} from './limits.ts';
import { createLoading } from './loading.ts';
import type { Query } from './quantise.ts';
import { createScanner } from './scanner.ts';
import { createSearchVectors, type SearchOutcome, type SearchVectors } from './search.ts';
import { createSpaces } from './spaces.ts';
import { createVectorStore, EARLIER_EMBEDDING, EMBEDDING, type VectorStore } from './store.ts';

export type VectorsDeps = {
  sql: Sql;
  queue: JobQueue;
  embeddings: Embeddings;
  settings: VectorsSettings & { catchUpIntervalSeconds: number };
  log: Logger;
};

export type VectorsSettings = { memoryBytesMax: number; threads: number };

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
  const embedDocument = createEmbedDocument({ store, embeddings, turns, log, ending: ending.signal });
  const kind: Omit<JobKind, 'kind' | 'pollMs'> = {
    batchMax: 1,
    handle: (jobs) =>
      Promise.all(jobs.map(({ payload }) => embedDocument((payload as { document: string }).document))),
    leaseMs: EMBEDDING_LEASE_MS,
    // Only the model's absence delays it, or a text that it refuses, which another model may take.
    attemptsMax: Number.POSITIVE_INFINITY,
  };
  const wake = queue.register({ ...kind, kind: EMBEDDING, pollMs: EMBEDDING_POLL_MS });
  const wakeEarlier = queue.register({ ...kind, kind: EARLIER_EMBEDDING, pollMs: EARLIER_EMBEDDING_POLL_MS });
  const name = 'documents.embedding-catch-up';
  const intervalMs = deps.settings.catchUpIntervalSeconds * 1000;
  const catchUp = createEmbeddingCatchUp({ store, embeddings, queue, wake: wakeEarlier, intervalMs, log });
  const periodic = createPeriodic({
    name,
    intervalMs,
    run: (signal) => exclusively(sql, name, (lease) => catchUp(AbortSignal.any([signal, lease.signal]))),
    log,
  });
  const { scanner, ...search } = createSearching(deps);
  return {
    ...search,
    jobs: [
      periodic,
      {
        name: 'documents.vectors',
        start: () => undefined,
        async stop() {
          ending.abort();
          scanner.end();
        },
      },
    ],
    wake,
    reload: () => void periodic.settle?.(),
  };
}

function createSearching({ sql, embeddings, settings, log }: VectorsDeps) {
  const searches = new Map<SearchOutcome, number>();
  const scanner = createScanner({
    threads: Math.min(THREADS_MAX, settings.threads),
    bytesMax: settings.memoryBytesMax,
    onLost: () => spaces.lost(),
    log,
  });
  const loading = createLoading(sql);
  const spaces = createSpaces({ loading, scanner, bytesMax: settings.memoryBytesMax, log });
  return {
    scanner,
    searchVectors: createSearchVectors({
      ...{ loading, spaces, scanner, embeddings, log },
      queries: new LRUCache<string, Query>({ max: QUERIES_KEPT_MAX }),
      count: (outcome) => void searches.set(outcome, (searches.get(outcome) ?? 0) + 1),
    }),
    checks: [vectorsCheck({ scanner, spaces })],
    metrics: vectorsMetrics({ scanner, searches }),
  };
}

/**
 * Embeds documents that were stored earlier, or that an earlier model has embedded; that model answers in a workspace until the
 * present one has all of its documents.
 */
function createEmbeddingCatchUp(deps: {
  store: VectorStore;
  embeddings: Embeddings;
  queue: Pick<JobQueue, 'backlog'>;
  wake(): void;
  /** After this time it is begun anew. */
  intervalMs: number;
  log: Logger;
}) {
  const { store, embeddings, queue, log } = deps;
  const areQueued = async (): Promise<boolean> =>
    (await queue.backlog()).some(({ kind, waiting }) => kind === EARLIER_EMBEDDING && waiting > 0);
  const switchTo = async (id: number, model: string, signal: AbortSignal): Promise<void> => {
    for (const workspace of await store.switchTo(id))
      log.info({ workspace, model }, 'another model answers searches by vectors');
    while (!signal.aborted && (await store.deleteSuperseded(id)));
  };
  return async (signal: AbortSignal): Promise<void> => {
    const name = await embeddings.current();
    const idOf = async (): Promise<number> => (await store.findModel(name))?.id ?? 0;
    const queueUnembedded = createCatchUp({
      kind: EARLIER_EMBEDDING,
      // Its first document adds the model.
      queueSome: async (page) => store.queueUnembedded(await idOf(), page),
      queue,
      wake: deps.wake,
    });
    const endsAt = performance.now() + deps.intervalMs;
    await queueUnembedded(signal);
    // The last documents may still be embedded now, or be tried again later.
    for (
      let pauseMs = SWITCH_PAUSE_MS;
      !signal.aborted;
      pauseMs = Math.min(2 * pauseMs, SWITCH_PAUSE_MS_MAX)
    ) {
      const goesOn = await areQueued();
      const id = await idOf();
      if (id !== 0) await switchTo(id, name, signal);
      if (!goesOn || performance.now() > endsAt || (await embeddings.current()) !== name) return;
      await sleep(pauseMs, signal);
    }
  };
}
