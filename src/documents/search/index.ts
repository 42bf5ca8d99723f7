// Search, put together. Meilisearch answers where it is configured, has every change of the workspace and is exact for the
// query; Postgres answers everything else.

import type { Logger } from '../../core/logger.ts';
import type { ReadinessCheck } from '../../http/readiness.ts';
import { createIndexes } from '../../infra/meilisearch/indexes.ts';
import type { Sql } from '../../infra/postgres/client.ts';
import { createMeilisearchSearch } from './meilisearch/index.ts';
import { createMirror, createMirrorRetirement, type MirrorSettings } from './meilisearch/mirror.ts';
import { createPostgresSearch } from './postgres/index.ts';
import { createPreparation } from './preparation.ts';
import type { SearchPage, SearchQuery } from './query.ts';
import { createSlowSearches } from './slow-searches.ts';

export type Answered = SearchPage & { engine: 'meilisearch' | 'postgres' };

export function createDocumentSearch(deps: {
  sql: Sql;
  searchSql: Sql;
  bucket: string;
  /** Undefined: Postgres alone answers searches. */
  meilisearch: MirrorSettings | undefined;
  log: Logger;
}) {
  const { sql, searchSql, bucket, meilisearch: settings, log } = deps;
  const slow = createSlowSearches();
  const postgres = createPostgresSearch({ sql: searchSql, bucket, slow });
  const meilisearch =
    settings && createMeilisearchSearch({ sql: searchSql, indexes: createIndexes(settings), bucket, log });
  const preparation = createPreparation({ sql, log });
  const mirror = settings && createMirror({ sql, settings, log });

  const check: ReadinessCheck = {
    name: 'search',
    essential: false,
    async check() {
      const state = (await mirror?.state()) ?? { state: 'ready' };
      if (state.state !== 'ready' || meilisearch?.isUsable() !== false) return state;
      return { ...state, state: 'degraded', detail: 'slow or failing: Postgres answers searches alone' };
    },
  };
  return {
    /** Throws 503 until every document is prepared for search. */
    async search(query: SearchQuery): Promise<Answered> {
      preparation.assertDone();
      const mirrored = await meilisearch?.search(query);
      if (mirrored !== undefined) return { ...mirrored, engine: 'meilisearch' };
      return { ...(await postgres.search(query)), engine: 'postgres' };
    },
    /** The conditions of a search, for other statements that ask the same of documents. Throws 503 as `search` does. */
    async plan(query: SearchQuery) {
      preparation.assertDone();
      return postgres.plan(query);
    },
    slow,
    jobs: [preparation.job, ...(mirror?.jobs ?? [createMirrorRetirement({ sql, log })])],
    checks: mirror === undefined ? [] : [check],
    metrics: mirror?.metrics ?? [],
  };
}
