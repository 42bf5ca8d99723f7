// The port to a search of vectors: the memory of this process (spaces.ts), or pgvector (graphs.ts).

import type { Answering } from './loading.ts';
import type { Query } from './quantise.ts';

export type NearestPassage = { score: number; id: bigint };

/** Orders higher scores first, and smaller ids first among equal scores. */
export const byScore = (one: NearestPassage, other: NearestPassage): number =>
  other.score - one.score || (one.id < other.id ? -1 : 1);

export type VectorEngine = {
  /**
   * Prepares a search in the vectors of a workspace as they are at the change that `answering` states, or a later one. Undefined
   * if that takes longer than a search waits. Rejects with NoRoom if they do not fit, and as the database does.
   */
  open(answering: Answering): Promise<FindNearest | undefined>;
};

/**
 * Finds the passages with the highest scores, best first: the products of the components of query and vector, times the vector's
 * scale. Fewer than `limit` only if there are no more; with `documents`, only passages of these, and then exactly. `how` names the
 * kind of search in an answer.
 */
export type FindNearest = (
  query: Query,
  asked: { limit: number; documents: readonly string[] | undefined },
  signal: AbortSignal,
) => Promise<{ nearest: NearestPassage[]; how: string }>;

/** The vectors of a workspace do not fit into the memory, or would need the room of others in use. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom';

  constructor(workspace: string) {
    super(`the vectors of the workspace ${workspace} have no room: VECTORS_MEMORY_BYTES_MAX`);
  }
}
