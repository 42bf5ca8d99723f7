// What a search asks and what it answers, whichever engine answers it.

import type { ShownDocument } from '../document.ts';
import type { Order, Predicate } from '../filter/ast.ts';
import type { Viewer } from '../policy.ts';

export type ArchivedChoice = 'without' | 'only' | 'any';

export type SearchQuery = {
  viewer: Viewer;
  /** All of them hold for every document found. */
  predicates: readonly Predicate[];
  archived: ArchivedChoice;
  /** Ranks by relevance, before `order`, and leaves out what does not match; typo-tolerant. */
  text?: string;
  order: readonly Order[];
  offset: number;
  limit: number;
};

/** One page in order, and how many documents match on all pages. */
export type SearchPage = { documents: ShownDocument[]; total: number };
