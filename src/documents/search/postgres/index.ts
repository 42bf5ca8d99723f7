// The engine that always answers: search in Postgres. Counts come first, and say how the page is best made.

import type { Semaphore } from '../../../core/semaphore.ts';
import type { Sql } from '../../../infra/postgres/client.ts';
import type { Document } from '../../document.ts';
import { documentColumns } from '../../rows.ts';
import type { SearchPage, SearchQuery } from '../query.ts';
import type { CommonTerms } from './common-terms.ts';
import { type Counts, countSelections } from './counting.ts';
import { createMirrored } from './mirrored.ts';
import { isDeep, pageStatement, skipDays } from './paging.ts';
import { createPrepare, type Prepared } from './prepared.ts';

export type PostgresSearch = ReturnType<typeof createPostgresSearch>;

export function createPostgresSearch(deps: {
  /** A pool of its own: searches, however slow, take no connection from anything else. */
  sql: Sql;
  bucket: string;
  /** The semaphore of slow searches, so that others stay quick. */
  slow: Semaphore;
  common: CommonTerms;
}) {
  const { sql, bucket, slow, common } = deps;

  const search = async (prepared: Prepared): Promise<SearchPage> => {
    if (prepared.selections.length === 0) return { documents: [], total: 0 };
    if (prepared.rowTests.some((row) => row.slow)) return slow.run(() => answer(prepared, true));
    return answer(prepared, false);
  };

  const answer = async (prepared: Prepared, inSlowLane: boolean): Promise<SearchPage> => {
    const { offset, limit } = prepared.query;
    // 1. How many there are, branch by branch: cheap where terms and counts can tell.
    const counts = await countSelections(sql, prepared, common);
    if (counts.total <= offset || limit === 0) return { documents: [], total: counts.total };
    // 2. A deep page of everything begins on a later day: the counts by day say which.
    const start = await skipDays(sql, prepared, counts);
    // 3. The page: walked in the order of an index, or gathered and sorted.
    const page = () => readPage(start.prepared, counts, start.offset);
    const documents =
      !inSlowLane && isDeep(start.prepared, counts, start.offset) ? await slow.run(page) : await page();
    return { documents, total: settleTotal(counts.total, prepared.query, documents.length) };
  };

  const readPage = async (prepared: Prepared, counts: Counts, offset: number): Promise<Document[]> => {
    const read = (walking: boolean) => {
      const { page, order } = pageStatement(sql, prepared, { counts, offset, walking });
      return sql<Document[]>`
        SELECT ${documentColumns(sql)} FROM (${page}) page JOIN documents d ON d.id = page.found ORDER BY ${order}`;
    };
    const documents = await read(true);
    if (prepared.query.order[0]?.attribute !== 'file_size') return documents;
    // A walk by size passes those by that have none: they come last, so that it matters only here.
    const expected = Math.min(prepared.query.limit, counts.total - offset);
    const reachedEnd = documents.length < expected || documents.some(({ fileSize }) => fileSize === null);
    return reachedEnd ? read(false) : documents;
  };

  return { prepare: createPrepare({ sql, bucket, common }), search, ...createMirrored(sql) };
}

/** Count and page are two statements; where others wrote in between, what the page shows decides. */
function settleTotal(counted: number, { offset, limit }: SearchQuery, found: number): number {
  if (found > 0 && found < limit) return offset + found;
  return Math.max(counted, found === 0 ? 0 : offset + found);
}
