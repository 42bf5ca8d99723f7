// Retrieval, put together: passages by their words and their vectors.

import { Elysia } from 'elysia';
import type { Job } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import type { Semaphore } from '../../core/semaphore.ts';
import type { Routes } from '../../http/area.ts';
import { cancelledBy, type Sql, type Transaction } from '../../infra/postgres/client.ts';
import { createCatchUpJob } from '../jobs/catch-up.ts';
import { type FindUserByEmail, viewerOf } from '../operations/search.ts';
import type { Viewer } from '../policy.ts';
import type { SearchVectors } from '../vectors/search.ts';
import { createWordCatchUp } from './catch-up.ts';
import { createExplain } from './explain.ts';
import { STATISTICS_INTERVAL_MS } from './limits.ts';
import { createUnderstand } from './question.ts';
import { createRetrieve, type Retrieve, type RetrieveDeps, type RetrieveRequest } from './retrieve.ts';
import { retrievalRoutes } from './routes.ts';
import { createWeighBySample } from './shares.ts';
import { createReadStatistics, createTakeStatistics } from './statistics.ts';
import { createStemmer } from './stems.ts';
import { type VectorStoreDeps, vectorStoreRoutes } from './vector-store.ts';
import { createVisible } from './visible.ts';
import { createWordStore, type WordStore } from './word-store.ts';
import { createWordRanking } from './words.ts';

export type RetrieveAsPerson = (
  person: { workspaceId: string; email: string },
  request: RetrieveRequest,
  signal?: AbortSignal,
) => ReturnType<Retrieve>;

export function createRetrieval(deps: {
  sql: Sql;
  searchSql: Sql;
  search: Pick<RetrieveDeps, 'plan'> & { slow: Semaphore };
  documents: VectorStoreDeps['documents'];
  searchVectors: SearchVectors;
  findUserByEmail: FindUserByEmail;
  catchUpIntervalSeconds: number;
  log: Logger;
}): {
  retrieve: Retrieve;
  /** As that person would find with their own key. */
  retrieveAsPerson: RetrieveAsPerson;
  words: WordStore;
  routes: Routes;
  jobs: Job[];
} {
  const { sql, searchSql, log } = deps;
  const stemmer = createStemmer();
  const words = createWordStore(sql, stemmer);
  const readStatistics = createReadStatistics();
  const weighBySample = createWeighBySample();
  /** Stems are asked for by the client of all: what the server answers is shared among callers. */
  const questionsBy = (own: Transaction) => ({
    sql: searchSql,
    stemmer,
    readStatistics: (viewer: Viewer) => readStatistics(own, viewer),
  });
  const retrieve = createRetrieve({
    statements(signal) {
      const own = signal === undefined ? searchSql : cancelledBy(searchSql, signal, sql);
      return {
        understand: createUnderstand(questionsBy(own)),
        words: createWordRanking(own),
        visible: createVisible(own),
        weighBySample: (question, viewer) => weighBySample(own, question, viewer),
      };
    },
    searchVectors: deps.searchVectors,
    plan: deps.search.plan,
    slow: deps.search.slow,
  });
  const periodic = (name: string, intervalMs: number, run: (signal: AbortSignal) => Promise<void>): Job =>
    createCatchUpJob({ sql, name, intervalMs, run, log });
  return {
    retrieve,
    retrieveAsPerson: async (person, request, signal) =>
      retrieve(await viewerOf(deps.findUserByEmail, person), request, signal),
    words,
    routes: (http) =>
      new Elysia({ name: 'documents.retrieval' })
        .use(retrievalRoutes(http, { retrieve, explain: createExplain(questionsBy(searchSql)) }))
        .use(vectorStoreRoutes(http, { retrieve, documents: deps.documents })),
    jobs: [
      periodic('documents.words-catch-up', deps.catchUpIntervalSeconds * 1000, createWordCatchUp(words)),
      periodic('documents.word-statistics', STATISTICS_INTERVAL_MS, createTakeStatistics(sql)),
    ],
  };
}
