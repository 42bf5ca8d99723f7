// One ranking out of two: by scores, not by places, so that a high score in one half outweighs low ones in both.

import type { FoundByVectors } from '../vectors/search.ts';
import type { Halves, RankedPassage } from './rank.ts';

/** The weight of vectors beside words, of any model; chosen on collections of four languages (bench/RESULTS.md). */
const WEIGHT = 0.2;

/**
 * The passages of either half by the sum of both scores, the best first. A cosine counts from the least one that was found, because what
 * is unrelated has cosines of its own with each model; a passage that the vectors have not found counts as that one. `words` has the
 * scores of all passages that have a word of the question.
 */
export function fuse(
  words: readonly RankedPassage[],
  { found }: Pick<FoundByVectors, 'found'>,
): RankedPassage[] {
  const least = found.length > 1 ? Math.max(0, Math.min(...found.map(({ score }) => score))) : 0;
  const halves = new Map<string, Halves>(
    words.map(({ passageId, score }) => [passageId, { words: score, vectors: null }]),
  );
  for (const { passageId, score } of found)
    halves.set(passageId, { words: halves.get(passageId)?.words ?? 0, vectors: score });
  const toScore = ({ words, vectors }: Halves): number => {
    const nearness = Math.max(0, (vectors ?? least) - least) / Math.max(1e-6, 1 - least);
    return Math.min(1, ((words ?? 0) + WEIGHT * Math.min(1, nearness)) / (1 + WEIGHT));
  };
  return [...halves]
    .map(([passageId, each]) => ({ passageId, score: toScore(each), halves: each }))
    .sort(
      (left, right) =>
        right.score - left.score ||
        left.passageId.length - right.passageId.length ||
        (left.passageId < right.passageId ? -1 : 1),
    );
}
