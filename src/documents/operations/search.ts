import { ValidationFailure } from '../../core/errors.ts';
import { newRandomId } from '../../core/ids.ts';
import type { ShownDocument } from '../document.ts';
import { ATTRIBUTES, type Attribute } from '../filter/attributes.ts';
import { DEFAULT_ORDER, distinctOrder } from '../filter/order.ts';
import { toPredicate } from '../filter/predicate.ts';
import { FILTERS_MAX, PAGE_SIZE_DEFAULT, WINDOW_LIMIT_DEFAULT } from '../limits.ts';
import type { Viewer } from '../policy.ts';
import type { Answered } from '../search/index.ts';
import type { ArchivedChoice, SearchQuery } from '../search/query.ts';
import { normalise, wordsIn } from '../search/terms.ts';
import type { SearchParameters } from '../search-schema.ts';

const ARCHIVED: Record<SearchParameters['archived'], ArchivedChoice> = {
  false: 'without',
  true: 'only',
  any: 'any',
};

/**
 * Finds what the viewer may see and every filter lets pass, and answers one page of it. Throws ValidationFailure for
 * too many filters.
 */
export function createSearch(search: (query: SearchQuery) => Promise<Answered>) {
  return async (viewer: Viewer, parameters: SearchParameters) => {
    const { page, size, offset, limit } = windowOf(parameters);
    const filters = (Object.keys(ATTRIBUTES) as Attribute[]).flatMap(
      (attribute) => parameters[attribute] ?? [],
    );
    if (filters.length > FILTERS_MAX) throw tooManyFilters(filters.length);
    const { documents, total, engine } = await search({
      viewer,
      predicates: filters.map(toPredicate),
      archived: ARCHIVED[parameters.archived],
      ...(hasWord(parameters.q ?? '') ? { text: parameters.q ?? '' } : {}),
      order: distinctOrder(parameters.order_by),
      offset,
      limit,
    });
    return { documents, total, page, size, pages: size === null ? null : Math.ceil(total / size), engine };
  };
}

export type FindUserByEmail = (workspaceId: string, email: string) => Promise<{ id: string } | undefined>;

/**
 * The documents that a person, known by e-mail, would find with their own key: those that have every word of the text.
 * A person who is unknown to the workspace finds what is public, or curated by that e-mail; a text without a word finds
 * nothing.
 */
export function createSearchAsPerson(
  search: ReturnType<typeof createSearch>,
  findUserByEmail: FindUserByEmail,
) {
  return async (
    { workspaceId, email }: { workspaceId: string; email: string },
    text: string,
    limit: number,
  ): Promise<{ documents: ShownDocument[]; total: number }> => {
    if (!hasWord(text)) return { documents: [], total: 0 };
    const viewer = await viewerOf(findUserByEmail, { workspaceId, email });
    return search(viewer, { q: text, archived: 'false', limit, order_by: [...DEFAULT_ORDER] });
  };
}

/** A person, known by e-mail, as the rules of documents see them. */
export async function viewerOf(
  findUserByEmail: FindUserByEmail,
  { workspaceId, email }: { workspaceId: string; email: string },
): Promise<Viewer> {
  const user = email === '' ? undefined : await findUserByEmail(workspaceId, email);
  return { workspaceId, userId: user?.id ?? newRandomId(), email, admin: false };
}

/** Without a word in it a text leaves nothing out. */
const hasWord = (text: string): boolean => wordsIn(normalise(text)).length > 0;

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

/** `limit` and `offset` count where neither page nor size is given; then both are null. */
function windowOf({ page, size, limit, offset }: SearchParameters) {
  if (page === undefined && size === undefined && (limit !== undefined || offset !== undefined))
    return { page: null, size: null, offset: within(offset ?? 0), limit: limit ?? WINDOW_LIMIT_DEFAULT };
  const [number, rows] = [page ?? 1, size ?? PAGE_SIZE_DEFAULT];
  return { page: number, size: rows, offset: within((number - 1) * rows), limit: rows };
}

/** No library has so many documents; the database counts no further than about a thousand times as many. */
const within = (offset: number): number => Math.min(offset, Number.MAX_SAFE_INTEGER);
