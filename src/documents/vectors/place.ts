/** A place in the order of scores: better ones have larger scores, and of equal ones the smaller id. */
export type Place = { score: number; id: bigint };

/** The better one first. */
export const byScore = (one: Place, other: Place): number =>
  other.score - one.score || (one.id < other.id ? -1 : 1);
