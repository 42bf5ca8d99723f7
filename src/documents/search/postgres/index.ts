// The engine that always answers: each search is one statement of Postgres.

import type { Semaphore } from '../../../core/semaphore.ts';
import type { Sql } from '../../../infra/postgres/client.ts';
import type { ShownDocument } from '../../document.ts';
import type { SearchPage, SearchQuery } from '../query.ts';
import { createTurns } from '../slow-searches.ts';
import { findHoldingWords } from './row-tests.ts';
import { planSearch, type SearchPlan, searchStatement } from './statement.ts';
import { searchText } from './text.ts';

export function createPostgresSearch(deps: {
  /** A pool of its own: searches, however slow, take no connection from anything else. */
  sql: Sql;
  bucket: string;
  /** The semaphore of slow searches, so that others stay quick. */
  slow: Semaphore;
}) {
  const { sql, bucket } = deps;
  const inTurn = createTurns(deps.slow);

  /** Looks up which words of the documents a query may mean, and makes its conditions. */
  async function plan(query: SearchQuery): Promise<SearchPlan> {
    const { workspaceId } = query.viewer;
    const [vocabulary, text] = await Promise.all([
      findHoldingWords(sql, query.predicates),
      query.text === undefined ? undefined : searchText(sql, workspaceId, query.text),
    ]);
    return planSearch(sql, query, { bucket, vocabulary, text });
  }

  async function search(query: SearchQuery): Promise<SearchPage> {
    const planned = await plan(query);
    if (planned.findsNothing) return { documents: [], total: 0 };
    const run = () => sql<(ShownDocument & { total: number })[]>`${searchStatement(sql, planned)}`;
    const rows = await (planned.slow ? inTurn(query.viewer.workspaceId, async () => run()) : run());
    const [first] = rows;
    // An empty page is a row without a document.
    return { documents: first?.id === null ? [] : rows, total: first?.total ?? 0 };
  }

  return { plan, search };
}
