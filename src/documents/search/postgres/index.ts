// The engine that always answers: search in Postgres. Counts come first, and say how the page is best made.

import { codeOf } from '../../../core/errors.ts';
import type { Semaphore } from '../../../core/semaphore.ts';
import { cancelledBy, type Sql, type Transaction } from '../../../infra/postgres/client.ts';
import type { ShownDocument } from '../../document.ts';
import { shownColumns } from '../../rows.ts';
import type { SearchPage, SearchQuery } from '../query.ts';
import { createTurns } from '../slow-searches.ts';
import type { CommonTerms } from './common-terms.ts';
import { type Counts, countClasses, countSelections } from './counting.ts';
import { createMirrored } from './mirrored.ts';
import {
  isDeep,
  matchesStatement,
  pageStatement,
  ROWS_READ_MAX,
  skipDays,
  wholeStatement,
} from './paging.ts';
import { createPrepare, isBounded, isLasting, isSlow, type Prepared, readsText } from './prepared.ts';
import { createSizes, type Sizes } from './sizes.ts';

/** A search with a lasting plan that takes longer is broken off, and asked again as one of a large workspace. */
const LASTING_MS_MAX = 1000;
class TooLong extends Error {}
/** PostgreSQL's code of a statement that was cancelled. */
const CANCELLED = '57014';

/** Texts that are remembered as broad. */
const BROAD_MAX = 1000;

export type PostgresSearch = ReturnType<typeof createPostgresSearch>;

export function createPostgresSearch(deps: {
  /** A pool of its own: searches, however slow, take no connection from anything else. */
  sql: Sql;
  /** For small workspaces and what a mirror needs: plans are made once. Default: as the others. */
  smallSql?: Sql;
  bucket: string;
  /** The semaphore of slow searches, so that others stay quick. */
  slow: Semaphore;
  common: CommonTerms;
  /** Default: as `createSizes` has them. */
  sizes?: Sizes;
}) {
  const { sql, smallSql = sql, bucket, slow, common, sizes = createSizes() } = deps;
  const columns = shownColumns(sql);
  const inTurn = createTurns(slow);

  const search = async (given: Prepared): Promise<SearchPage> => {
    const { place, query, selections } = given;
    if (selections.length === 0) return { documents: [], total: 0 };
    const prepared = query.text === undefined ? given : await given.spelt();
    const { rowTests } = prepared;
    const waits =
      !isBounded(prepared) &&
      (isSlow(prepared) || (sizes.isDistrusted(place) && rowTests.some(({ texts }) => texts)));
    try {
      if (prepared.text !== undefined) return await rank(prepared, waits);
      return await (waits ? turnOf(prepared, () => answer(prepared, true)) : answer(prepared, false));
    } catch (error) {
      if (!(error instanceof TooLong)) throw error;
      sizes.distrust(place);
      return search(await prepare(query));
    }
  };
  const turnOf = <T>({ query }: Prepared, work: () => Promise<T>) => inTurn(query.viewer.workspaceId, work);

  /** Digests of texts that found so much when they were last asked for that they wait for their turn. */
  const broad = new Set<number | bigint>();

  const rank = async (prepared: Prepared, waits: boolean): Promise<SearchPage> => {
    const { viewer, text } = prepared.query;
    const name = Bun.hash(`${viewer.workspaceId} ${text}`);
    const read = () => readWhole(prepared);
    const page = waits || broad.has(name) ? await turnOf(prepared, read) : await read();
    if (broad.size >= BROAD_MAX) broad.clear();
    broad[page.total > ROWS_READ_MAX ? 'add' : 'delete'](name);
    return page;
  };

  /** How many documents the planner expects to match. */
  const estimate = async (prepared: Prepared): Promise<number> => {
    const [row] = await sql<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }[]>`
      EXPLAIN (FORMAT JSON) ${matchesStatement(sql, prepared)}`;
    return row?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
  };

  /** On the few connections of lasting plans, where a statement that takes long would keep others waiting. Throws TooLong. */
  const briefly = async <T>(ask: (client: Transaction) => Promise<T>): Promise<T> => {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), LASTING_MS_MAX);
    try {
      return await ask(cancelledBy(smallSql, limit.signal, sql));
    } catch (error) {
      throw limit.signal.aborted && codeOf(error) === CANCELLED ? new TooLong() : error;
    } finally {
      clearTimeout(timer);
    }
  };

  const readWhole = async (prepared: Prepared): Promise<SearchPage> => {
    const { place, size } = prepared;
    const { page, order } = wholeStatement(sql, prepared);
    const inClasses = size === undefined ? countClasses(sql, prepared.selections) : sql`NULL`;
    const ask = (client: Transaction) => client<
      (ShownDocument & { total: number; inClasses: number | null })[]
    >`
      SELECT page.total, ${inClasses}::float8 AS "inClasses", ${columns}
      FROM (${page}) page LEFT JOIN documents d ON d.id = page.found ORDER BY ${order}`;
    const rows = await (isLasting(prepared) ? briefly(ask) : ask(sql));
    const [first] = rows;
    const total = first?.total ?? 0;
    if (size === undefined) sizes.learn(place, first?.inClasses ?? 0);
    else sizes.check(place, total);
    // An empty page is a row without a document.
    return { documents: first?.id === null ? [] : rows, total };
  };

  /** Whether to read every match for the total and the page. */
  const isReadWhole = async (prepared: Prepared): Promise<boolean> => {
    const { size, conditions } = prepared;
    if (size === 'small') return true;
    if (size !== 'medium') return readsText(prepared) && (await estimate(prepared)) <= ROWS_READ_MAX;
    // Where what is found has to be read for the total anyway.
    return readsText(prepared) || !common.areAll(conditions.required);
  };

  const answer = async (prepared: Prepared, inSlowLane: boolean): Promise<SearchPage> => {
    const { offset, limit } = prepared.query;
    // 0. In a small workspace, and where matches are read for the total anyway, they are read once, for the page, too.
    if (await isReadWhole(prepared)) return readWhole(prepared);
    // 1. How many there are, branch by branch: cheap where terms and counts can tell.
    const counts = await countSelections(sql, prepared, common);
    sizes.learn(prepared.place, counts.inClasses);
    if (counts.total <= offset || limit === 0) return { documents: [], total: counts.total };
    // 2. A deep page of everything begins on a later day: the counts by day say which.
    const start = await skipDays(sql, prepared, counts);
    // 3. The page: walked in the order of an index, or gathered and sorted.
    const page = () => readPage(start.prepared, counts, start.offset);
    const documents =
      !inSlowLane && isDeep(start.prepared, counts, start.offset)
        ? await turnOf(prepared, page)
        : await page();
    return { documents, total: settleTotal(counts.total, prepared.query, documents.length) };
  };

  const readPage = async (prepared: Prepared, counts: Counts, offset: number): Promise<ShownDocument[]> => {
    const read = (walking: boolean) => {
      const { page, order } = pageStatement(sql, prepared, { counts, offset, walking });
      return sql<ShownDocument[]>`
        SELECT ${columns} FROM (${page}) page JOIN documents d ON d.id = page.found ORDER BY ${order}`;
    };
    const documents = await read(true);
    if (prepared.query.order[0]?.attribute !== 'file_size') return documents;
    // A walk by size passes those by that have none: they come last, so that it matters only here.
    const expected = Math.min(prepared.query.limit, counts.total - offset);
    const reachedEnd = documents.length < expected || documents.some(({ fileSize }) => fileSize === null);
    return reachedEnd ? read(false) : documents;
  };

  const prepare = createPrepare({ sql, lastingSql: smallSql, bucket, common, sizeOf: sizes.of });
  return { prepare, search, ...createMirrored(smallSql, sizes) };
}

/** Count and page are two statements; where others wrote in between, what the page shows decides. */
function settleTotal(counted: number, { offset, limit }: SearchQuery, found: number): number {
  if (found > 0 && found < limit) return offset + found;
  return Math.max(counted, found === 0 ? 0 : offset + found);
}
