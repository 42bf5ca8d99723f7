import { ValidationFailure } from '../../core/errors.ts';
import type { Document } from '../document.ts';
import { ATTRIBUTES, type Attribute } from '../filter/attributes.ts';
import { normalise } from '../filter/normalise.ts';
import { distinctOrder } from '../filter/order.ts';
import { toPredicate } from '../filter/predicate.ts';
import { FILTERS_MAX, PAGE_SIZE_DEFAULT, WINDOW_LIMIT_DEFAULT } from '../limits.ts';
import type { Viewer } from '../policy.ts';
import type { Answered } from '../search/planner.ts';
import type { ArchivedChoice, SearchQuery } from '../search/query.ts';
import { wordsIn } from '../search/words.ts';
import type { SearchParameters } from '../search-schema.ts';

export type FoundPage = {
  documents: Document[];
  total: number;
  /** Null where a window was asked for by limit and offset. */
  page: number | null;
  size: number | null;
  pages: number | null;
  engine: Answered['engine'];
};

const ARCHIVED: Record<SearchParameters['archived'], ArchivedChoice> = {
  false: 'without',
  true: 'only',
  any: 'any',
};

/**
 * Finds what the viewer may see and every filter lets pass, and answers one page of it. Throws ValidationFailure for
 * too many filters.
 */
export function createSearch({ search }: { search(query: SearchQuery): Promise<Answered> }) {
  return async (viewer: Viewer, parameters: SearchParameters): Promise<FoundPage> => {
    const { page, size, offset, limit } = windowOf(parameters);
    const filters = (Object.keys(ATTRIBUTES) as Attribute[]).flatMap(
      (attribute) => parameters[attribute] ?? [],
    );
    if (filters.length > FILTERS_MAX) throw tooManyFilters(filters.length);
    const { documents, total, engine } = await search({
      viewer,
      predicates: filters.map(toPredicate),
      archived: ARCHIVED[parameters.archived],
      // Without a word in it a text leaves nothing out.
      ...(wordsIn(normalise(parameters.q ?? '')).length === 0 ? {} : { text: parameters.q ?? '' }),
      order: distinctOrder(parameters.order_by),
      offset,
      limit,
    });
    return { documents, total, page, size, pages: size === null ? null : Math.ceil(total / size), engine };
  };
}

const tooManyFilters = (count: number): ValidationFailure =>
  new ValidationFailure([
    {
      type: 'too_long',
      loc: ['query'],
      msg: `A search may have at most ${FILTERS_MAX} filters, not ${count}`,
      input: null,
      ctx: { max_length: FILTERS_MAX, actual_length: count },
    },
  ]);

type Window = { page: number | null; size: number | null; offset: number; limit: number };

/** `limit` and `offset` count where neither page nor size is given. */
function windowOf({ page, size, limit, offset }: SearchParameters): Window {
  if (page === undefined && size === undefined && (limit !== undefined || offset !== undefined)) {
    return { page: null, size: null, offset: offset ?? 0, limit: limit ?? WINDOW_LIMIT_DEFAULT };
  }
  const [number, rows] = [page ?? 1, size ?? PAGE_SIZE_DEFAULT];
  return { page: number, size: rows, offset: (number - 1) * rows, limit: rows };
}
