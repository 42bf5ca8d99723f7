// The engine that answers by a mirror: the search server says what is found, Postgres what it may not know yet.

import type { Indexes } from '../../../infra/meilisearch/indexes.ts';
import type { Order } from '../../filter/ast.ts';
import type { PostgresSearch } from '../postgres/index.ts';
import type { Keyed, MirrorState } from '../postgres/mirrored.ts';
import type { Prepared } from '../postgres/prepared.ts';
import type { SearchPage, SearchQuery } from '../query.ts';
import { normalise, runsIn } from '../terms.ts';
import { type Compiled, compile, isIn } from './compile.ts';

/** More changes than this on their way, and Postgres is as fast alone. */
const PENDING_MAX = 1000;

type Row = { id: string } & Record<string, string | number>;

export type MeilisearchSearch = ReturnType<typeof createMeilisearchSearch>;

export function createMeilisearchSearch(deps: {
  indexes: Pick<Indexes, 'page' | 'ranked'>;
  postgres: Pick<PostgresSearch, 'mirrored' | 'read'>;
}) {
  const { indexes, postgres } = deps;
  return {
    /**
     * Undefined where the index cannot answer exactly now. Throws when the server is away, slow beyond the signal, or
     * lacks the index.
     */
    async search(given: Prepared, signal: AbortSignal): Promise<SearchPage | undefined> {
      const { query } = given;
      const compiled = compile(given);
      if (compiled === undefined) return undefined;
      // 1. One snapshot of the database: which index answers, what it may lack, and what of that is found, or may be, by its words.
      let mirror = await postgres.mirrored(given, PENDING_MAX);
      const spelt = query.text !== undefined && mirror !== undefined && mirror.matching.length > 0;
      const prepared = spelt ? await given.spelt() : given;
      if (spelt) mirror = await postgres.mirrored(prepared, PENDING_MAX);
      if (mirror === undefined || mirror.small || mirror.longNames) return undefined;
      // 2. Everything else, from the server's own snapshot. Each document comes from exactly one of the two.
      const pageOf = query.text === undefined ? orderedPage : rankedPage;
      const found = await pageOf({ query, compiled, mirror, signal });
      if (found === undefined) return undefined;
      // 3. The records as they are now. One that has changed since would not be what was searched for.
      let documents = await postgres.read(prepared, found.ids, mirror);
      if (documents === undefined && query.text !== undefined && !spelt)
        documents = await postgres.read(await given.spelt(), found.ids, mirror);
      return documents && { documents, total: found.total };
    },
  };

  type Asked = { query: SearchQuery; compiled: Compiled; mirror: MirrorState; signal: AbortSignal };
  type Found = { ids: string[]; total: number };

  async function orderedPage({ query, compiled, mirror, signal }: Asked): Promise<Found> {
    // Changed documents may stand before the page: so many more of the others have to be known.
    const first = Math.max(0, query.offset - mirror.matching.length);
    const { results, total } = await indexes.page<Row>(
      mirror.indexUid,
      {
        filter: without(compiled.filter, mirror.pending),
        sort: compiled.sort,
        offset: first,
        limit: query.offset + query.limit - first,
        fields: ['id', ...(mirror.matching.length === 0 ? [] : compiled.keys), 'no_size'],
      },
      signal,
    );
    const others = results.map((row) => ({ id: row.id, keys: compiled.keys.map((key) => keyOf(row, key)) }));
    const merged = mergeInOrder(others, mirror.matching, query.order);
    const ids = merged.slice(query.offset - first).map(({ id }) => id);
    return { ids: ids.slice(0, query.limit), total: total + mirror.matching.length };
  }

  /** Relevance can't be merged: only where nothing that has changed is found. */
  async function rankedPage({ query, compiled, mirror, signal }: Asked): Promise<Found | undefined> {
    if (mirror.matching.length > 0 || query.offset % query.limit !== 0) return undefined;
    const { results, total } = await indexes.ranked<Row>(
      mirror.indexUid,
      {
        // Neither quotes nor signs: they have a meaning of their own there, and the last word is taken for unfinished only at the very end.
        q: runsIn(normalise(query.text ?? '')).join(' '),
        filter: without(compiled.filter, mirror.pending),
        sort: compiled.sort,
        page: query.offset / query.limit + 1,
        size: query.limit,
      },
      signal,
    );
    return { ids: results.map(({ id }) => id), total };
  }
}

const without = (filter: string[], pending: readonly string[]): string[] =>
  pending.length === 0 ? filter : [...filter, `NOT (${isIn('id', pending)})`];

/** As Postgres tells it: the name itself, and null for no size. */
function keyOf(row: Row, key: string): string | number | null {
  if (key === 'file_size' && row['no_size'] === 1) return null;
  const value = row[key] ?? null;
  return key === 'order_name' ? Buffer.from(String(value).slice(1), 'hex').toString() : value;
}

/** Two lists that are each in order, as one. The second need not be in order. */
export const mergeInOrder = (
  sorted: readonly Keyed[],
  others: readonly Keyed[],
  order: readonly Order[],
): Keyed[] =>
  others.length === 0
    ? [...sorted]
    : [...sorted, ...others].sort((left, right) => compare(left, right, order));

function compare(left: Keyed, right: Keyed, order: readonly Order[]): number {
  for (const [index, { descending }] of order.entries()) {
    const [a, b] = [left.keys[index] ?? null, right.keys[index] ?? null];
    if (a === null || b === null) {
      // Nulls come last both ways.
      if (a !== b) return a === null ? 1 : -1;
      continue;
    }
    const difference = compareKeys(a, b);
    if (difference !== 0) return descending ? -difference : difference;
  }
  return left.id < right.id ? -1 : 1;
}

/** Text by code points, which JavaScript's own comparison does not follow beyond the basic plane. */
const compareKeys = (left: string | number, right: string | number): number =>
  typeof left === 'number' || typeof right === 'number'
    ? Number(left) - Number(right)
    : Buffer.compare(Buffer.from(left), Buffer.from(right));
