// Visibility as part of the query: what a viewer may find, as disjoint sets of which each lies in one class. Totals
// are sums over them, pages are merged from them, and nothing outside them is ever read.

import type { Document } from '../document.ts';
import { statusWordsUnder } from '../filter/status.ts';
import type { ArchivedChoice, SearchQuery } from './query.ts';
import { createTerms } from './terms.ts';

/** A class of documents (document_class in the database), narrowed to those with and without a term. */
export type Branch = { class: number; required?: string; excluded?: string; owner?: string };

const CLASSES = { public: 0, private: 1, deleted: 2 } as const;
/** The class of a document, as the database's document_class. */
export const classOf = ({ status, archivedAt }: Pick<Document, 'status' | 'archivedAt'>): number =>
  CLASSES[status] + (archivedAt === null ? 0 : ARCHIVED);

/** Added to the class of archived documents. */
const ARCHIVED = 3;
const SHIFTS: Record<ArchivedChoice, readonly number[]> = {
  without: [0],
  only: [ARCHIVED],
  any: [0, ARCHIVED],
};

/**
 * Admins find everything of their workspace; others what is public, their own, and what they curate. Binned documents
 * only where the status is asked for by their word, one's own or (admins) all.
 */
export function branchesOf({ viewer, predicates, archived }: SearchQuery): Branch[] {
  const terms = createTerms(viewer.workspaceId);
  const own = terms.owner(viewer.userId);
  const words = statusWordsUnder(predicates);
  return SHIFTS[archived].flatMap((shift) =>
    words.flatMap((word): Branch[] => {
      const within = { class: CLASSES[word] + shift };
      if (viewer.admin || word === 'public') return [within];
      const owned = { ...within, required: own, owner: viewer.userId };
      if (word === 'deleted') return [owned];
      return [owned, { ...within, required: terms.curator(viewer.email), excluded: own }];
    }),
  );
}
