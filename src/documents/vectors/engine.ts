// The port of what searches vectors: the memory of this process (memory-engine.ts), or pgvector (graphs/).

import type { Answering } from './loading.ts';
import type { Place } from './place.ts';
import type { Query } from './quantise.ts';

export type VectorEngine = {
  /**
   * Prepares for a search in the vectors of a workspace as they are at the change that `answering` states, or a later one. Undefined
   * where that takes longer than a search waits. Rejects with NoRoom where they do not fit, and as the database does.
   */
  open(answering: Answering): Promise<FindNearest | undefined>;
};

/**
 * The passages with the highest scores, best first: the products of the components of query and vector, times the vector's scale.
 * Fewer than `limit` only where there are no more; with `documents`, only passages of these, and then exactly.
 */
export type FindNearest = (
  query: Query,
  asked: { limit: number; documents: readonly string[] | undefined },
  signal: AbortSignal,
) => Promise<Nearest>;

/** `how`: the kind of search, as an answer names it. */
export type Nearest = { places: Place[]; how: string };
