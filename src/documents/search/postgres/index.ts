// The engine that always answers: search in Postgres. Counts come first, and say how the page is best made.

import type { Semaphore } from '../../../core/semaphore.ts';
import type { Sql } from '../../../infra/postgres/client.ts';
import type { Document } from '../../document.ts';
import type { Predicate } from '../../filter/ast.ts';
import { documentColumns } from '../../rows.ts';
import type { SearchPage, SearchQuery } from '../query.ts';
import type { CommonTerms } from './common-terms.ts';
import { type Counts, countSelections } from './counting.ts';
import { createMirrored } from './mirrored.ts';
import {
  isDeep,
  matchesStatement,
  pageStatement,
  ROWS_READ_MAX,
  skipDays,
  wholeStatement,
} from './paging.ts';
import { createPrepare, type Prepared } from './prepared.ts';

/** Documents of a workspace that is small: all that match are read in one round trip, for the total and the page. */
const SMALL_MAX = 1000;
/** For so long a workspace is taken for small without being counted again; one that has grown costs time, not truth. */
const SMALL_MS = 60_000;
const SMALL_ONES_MAX = 10_000;
/** Texts that are remembered as broad. */
const BROAD_MAX = 1000;

export type PostgresSearch = ReturnType<typeof createPostgresSearch>;

export function createPostgresSearch(deps: {
  /** A pool of its own: searches, however slow, take no connection from anything else. */
  sql: Sql;
  /** For small workspaces: plans are made once. Default: as the others. */
  smallSql?: Sql;
  bucket: string;
  /** The semaphore of slow searches, so that others stay quick. */
  slow: Semaphore;
  common: CommonTerms;
  /** Default: 1,000. */
  smallMax?: number;
}) {
  const { sql, smallSql = sql, bucket, slow, common, smallMax = SMALL_MAX } = deps;

  const search = async (prepared: Prepared): Promise<SearchPage> => {
    if (prepared.selections.length === 0) return { documents: [], total: 0 };
    const isSlow = prepared.rowTests.some((row) => row.slow);
    if (prepared.text !== undefined) return rank(prepared, isSlow);
    return isSlow ? slow.run(() => answer(prepared, true)) : answer(prepared, false);
  };

  /** Digests of texts that found so much when they were last asked for that they wait for their turn. */
  const broad = new Set<number | bigint>();

  const rank = async (prepared: Prepared, isSlow: boolean): Promise<SearchPage> => {
    const { viewer, text } = prepared.query;
    const name = Bun.hash(`${viewer.workspaceId} ${text}`);
    const read = () => readWhole(prepared);
    const page = isSlow || broad.has(name) ? await slow.run(read) : await read();
    if (broad.size >= BROAD_MAX) broad.clear();
    broad[page.total > ROWS_READ_MAX ? 'add' : 'delete'](name);
    return page;
  };

  /** Until when each is taken for small, of a workspace and the classes that are asked for. */
  const small = new Map<string, number>();

  const isSmall = (place: string): boolean => (small.get(place) ?? 0) > performance.now();

  const learnSize = (place: string, documents: number): void => {
    if (small.size >= SMALL_ONES_MAX) small.clear();
    if (documents <= smallMax) small.set(place, performance.now() + SMALL_MS);
  };

  /** How many documents the planner expects to match. */
  const estimate = async (prepared: Prepared): Promise<number> => {
    const [row] = await sql<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }[]>`
      EXPLAIN (FORMAT JSON) ${matchesStatement(sql, prepared)}`;
    return row?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
  };

  const readWhole = async (prepared: Prepared, client = sql): Promise<SearchPage> => {
    const { page, order } = wholeStatement(sql, prepared);
    const rows = await client<(Document & { total: number })[]>`
      SELECT page.total, ${documentColumns(sql)} FROM (${page}) page LEFT JOIN documents d ON d.id = page.found
      ORDER BY ${order}`;
    const documents = rows.flatMap(({ total: _, ...document }) => (document.id === null ? [] : [document]));
    return { documents, total: rows[0]?.total ?? 0 };
  };

  const answer = async (prepared: Prepared, inSlowLane: boolean): Promise<SearchPage> => {
    const { offset, limit } = prepared.query;
    // 0. In a small workspace, and where matches of a text are probably few, they are read once, for the total and the page.
    const place = placeOf(prepared);
    const readsText = prepared.conditions.rest.some(isText);
    if (isSmall(place)) {
      // The index of a text holds that of other workspaces, too: whether it helps is to be planned for the text.
      const whole = await readWhole(prepared, readsText ? sql : smallSql);
      if (whole.total > smallMax) small.delete(place);
      return whole;
    }
    if (readsText && (await estimate(prepared)) <= ROWS_READ_MAX) return readWhole(prepared);
    // 1. How many there are, branch by branch: cheap where terms and counts can tell.
    const counts = await countSelections(sql, prepared, common);
    learnSize(place, counts.inClasses);
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

const placeOf = ({ query, selections }: Prepared): string =>
  `${[...new Set(selections.map(({ branch }) => branch.class))]} ${query.viewer.workspaceId}`;

/** Whether rows have to be read for a predicate; moments and sizes are counted in an index. */
const isText = ({ attribute, negated }: Predicate): boolean =>
  !negated && attribute !== 'created_at' && attribute !== 'file_size';

/** Count and page are two statements; where others wrote in between, what the page shows decides. */
function settleTotal(counted: number, { offset, limit }: SearchQuery, found: number): number {
  if (found > 0 && found < limit) return offset + found;
  return Math.max(counted, found === 0 ? 0 : offset + found);
}
