// What retrieval asks of vectors.

export type FoundByVectors = {
  /** The model, as an answer may name it. */
  model: string;
  /** Best first; the score is the cosine of the vectors. Fewer than asked for only where there are no more. */
  found: { passageId: string; score: number }[];
};

/**
 * The passages of a workspace whose vectors are nearest to the query's, among `documents` alone where they are given. Undefined where
 * nothing is embedded yet, and where vectors are not available now.
 */
export type SearchVectors = (
  request: { workspaceId: string; query: string; limit: number; documents?: ReadonlySet<string> },
  signal?: AbortSignal,
) => Promise<FoundByVectors | undefined>;
