// Search, put together: the engines, the jobs that keep them true, and their health.

import type { Logger } from '../../core/logger.ts';
import { createPeriodic } from '../../core/periodic.ts';
import type { ReadinessCheck } from '../../http/readiness.ts';
import { createIndexes } from '../../infra/meilisearch/indexes.ts';
import type { Sql } from '../../infra/postgres/client.ts';
import { createMeilisearchSearch } from './meilisearch/index.ts';
import {
  createMirror,
  createMirrorRetirement,
  type Mirror,
  type MirrorSettings,
} from './meilisearch/mirror.ts';
import { type Answered, createSearchPlanner } from './planner.ts';
import { createCommonTerms } from './postgres/common-terms.ts';
import { createCountFolding } from './postgres/count-folding.ts';
import { createPostgresSearch } from './postgres/index.ts';
import { createPreparation } from './postgres/preparation.ts';
import type { Prepared } from './postgres/prepared.ts';
import type { SearchQuery } from './query.ts';
import { createSlowSearches } from './slow-searches.ts';

const FOLD_INTERVAL_MS = 1000;

export function createDocumentSearch(deps: {
  sql: Sql;
  searchSql: Sql;
  lastingSql: Sql;
  bucket: string;
  /** Undefined: Postgres alone answers searches. */
  meilisearch: MirrorSettings | undefined;
  log: Logger;
}) {
  const { sql, searchSql, lastingSql, bucket, meilisearch, log } = deps;
  const slow = createSlowSearches();
  const common = createCommonTerms(sql);
  const postgres = createPostgresSearch({ sql: searchSql, smallSql: lastingSql, bucket, slow, common });
  const preparation = createPreparation({ sql, log });
  const mirror = meilisearch && createMirror({ sql, settings: meilisearch, log });
  const planner = createSearchPlanner({
    postgres,
    meilisearch: meilisearch && createMeilisearchSearch({ indexes: createIndexes(meilisearch), postgres }),
    log,
  });
  const folding = createPeriodic({
    name: 'documents.counts',
    intervalMs: FOLD_INTERVAL_MS,
    run: createCountFolding({ sql, common, log }),
    log,
  });
  const mirrorCheck = (of: Mirror): ReadinessCheck => ({
    name: 'search',
    essential: false,
    async check() {
      const state = await of.state();
      if (state.state !== 'ready' || planner.usesMirror()) return state;
      return { ...state, state: 'degraded', detail: 'slow or failing: Postgres answers searches alone' };
    },
  });
  return {
    async search(query: SearchQuery): Promise<Answered> {
      preparation.assertDone();
      return planner.search(query);
    },
    /** What a search would read, for other statements that ask the same of documents. Throws 503 as `search` does. */
    async prepare(query: SearchQuery): Promise<Prepared> {
      preparation.assertDone();
      return postgres.prepare(query);
    },
    slow,
    jobs: [preparation.job, folding, ...(mirror?.jobs ?? [createMirrorRetirement({ sql, log })])],
    checks: mirror === undefined ? [] : [mirrorCheck(mirror)],
    metrics: mirror?.metrics ?? [],
  };
}
