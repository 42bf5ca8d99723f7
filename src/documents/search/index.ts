// Search, put together: the engines, what keeps them true, and what is told of them.

import { availableParallelism } from 'node:os';
import { createConcurrencyLimit } from '../../core/concurrency-limit.ts';
import type { Job } from '../../core/lifecycle.ts';
import type { Logger } from '../../core/logger.ts';
import { createPeriodic } from '../../core/periodic.ts';
import type { Sql } from '../../infra/postgres/client.ts';
import { createCountFolding } from './postgres/count-folding.ts';
import type { SearchEntries } from './postgres/entries.ts';
import { createPostgresSearch } from './postgres/index.ts';
import { createPreparation } from './postgres/preparation.ts';
import type { SearchIndex, SearchPage, SearchQuery } from './search-index.ts';

export type Answered = SearchPage & { engine: SearchIndex['name'] };

export type DocumentSearch = {
  search(query: SearchQuery): Promise<Answered>;
  jobs: Job[];
};

/** Slow searches that wait; beyond it they are refused. */
const SLOW_WAITING_MAX = 32;
const FOLD_INTERVAL_MS = 1000;

export function createDocumentSearch(deps: {
  sql: Sql;
  searchSql: Sql;
  bucket: string;
  entries: SearchEntries;
  log: Logger;
}): DocumentSearch {
  const { sql, searchSql, bucket, entries, log } = deps;
  const slow = createConcurrencyLimit({
    runningMax: Math.max(1, Math.floor(availableParallelism() / 2)),
    waitingMax: SLOW_WAITING_MAX,
    refusal: 'Too many slow searches are waiting',
  });
  const postgres = createPostgresSearch({ sql: searchSql, bucket, slow });
  const preparation = createPreparation({ sql, entries, log });
  return {
    async search(query) {
      preparation.assertDone();
      const page = await postgres.search(query);
      return { ...page, engine: postgres.name };
    },
    jobs: [
      preparation.job,
      createPeriodic({
        name: 'documents.counts',
        intervalMs: FOLD_INTERVAL_MS,
        run: createCountFolding(sql, log),
        log,
      }),
    ],
  };
}
