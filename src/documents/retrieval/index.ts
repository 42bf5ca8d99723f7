// Retrieval, put together: passages by their words and their vectors.

import { Elysia } from 'elysia';
import type { Logger } from '../../core/logger.ts';
import type { Http } from '../../http/http.ts';
import type { Sql } from '../../infra/postgres/client.ts';
import { createCatchUpJob } from '../jobs/catch-up.ts';
import { type FindUserByEmail, viewerOf } from '../operations/search.ts';
import type { DocumentStore } from '../store.ts';
import type { SearchVectors } from '../vectors/search.ts';
import { createExplainer } from './explain.ts';
import { createRetriever, type RetrieveRequest } from './retrieve.ts';
import { retrievalRoutes } from './routes.ts';
import { createStemmer } from './stems.ts';
import { vectorStoreRoutes } from './vector-store.ts';
import { createWordStore } from './word-store.ts';

export function createRetrieval(deps: {
  sql: Sql;
  searchSql: Sql;
  search: Parameters<typeof createRetriever>[0]['search'];
  documents: Pick<DocumentStore, 'readVisible'>;
  searchVectors: SearchVectors;
  findUserByEmail: FindUserByEmail;
  catchUpIntervalSeconds: number;
  log: Logger;
}) {
  const { sql, searchSql, log } = deps;
  const stemmer = createStemmer();
  const words = createWordStore(sql, stemmer);
  const { search, searchVectors } = deps;
  const retriever = createRetriever({ searchSql, stemmer, searchVectors, search });
  const explainer = createExplainer({ sql: searchSql, stemmer });
  return {
    retrieve: retriever.retrieve,
    /** As that person would find with their own key. */
    retrieveAsPerson: async (
      person: { workspaceId: string; email: string },
      request: RetrieveRequest,
      signal?: AbortSignal,
    ) => retriever.retrieve(await viewerOf(deps.findUserByEmail, person), request, signal),
    words,
    routes: (http: Http) =>
      new Elysia({ name: 'documents.retrieval' })
        .use(retrievalRoutes(http, { retriever, explainer }))
        .use(vectorStoreRoutes(http, { retriever, documents: deps.documents })),
    jobs: [
      createCatchUpJob({
        sql,
        name: 'documents.words-catch-up',
        intervalMs: deps.catchUpIntervalSeconds * 1000,
        run: words.catchUp,
        log,
      }),
    ],
  };
}
