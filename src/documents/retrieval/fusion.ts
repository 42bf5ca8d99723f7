// One ranking out of two: by scores, not by places, so that a high score in one half outweighs low ones in both.

import { LOCAL_EMBEDDING_MODEL } from '../../core/embed-texts.ts';
import type { FoundByVectors } from '../vectors/search.ts';
import type { Halves, RankedPassage } from './words.ts';

/**
 * The weight of vectors beside words. The built-in model compares pieces of words, which mostly finds what the words find; its
 * weight was chosen on collections of four languages (bench/RESULTS.md). That of other models was not measured.
 */
const LOCAL_WEIGHT = 0.2;
const MODEL_WEIGHT = 1;

/**
 * The passages of either half by the sum of both scores, the best first. A cosine counts from the least one that was found, because what
 * is unrelated has cosines of its own with each model; a passage that the vectors have not found counts as that one. `words` has the
 * scores of all passages that have a word of the question.
 */
export function fuse(words: readonly RankedPassage[], { model, found }: FoundByVectors): RankedPassage[] {
  const weight = model === LOCAL_EMBEDDING_MODEL.id ? LOCAL_WEIGHT : MODEL_WEIGHT;
  const least = found.length > 1 ? Math.max(0, Math.min(...found.map(({ score }) => score))) : 0;
  const halves = new Map<string, Halves>(
    words.map(({ passageId, score }) => [passageId, { words: score, vectors: null }]),
  );
  for (const { passageId, score } of found)
    halves.set(passageId, { words: halves.get(passageId)?.words ?? 0, vectors: score });
  const toScore = ({ words, vectors }: Halves): number => {
    const nearness = Math.max(0, (vectors ?? least) - least) / Math.max(1e-6, 1 - least);
    return Math.min(1, ((words ?? 0) + weight * Math.min(1, nearness)) / (1 + weight));
  };
  return [...halves]
    .map(([passageId, each]) => ({ passageId, score: toScore(each), halves: each }))
    .sort(
      (left, right) =>
        right.score - left.score || (BigInt(left.passageId) < BigInt(right.passageId) ? -1 : 1),
    );
}
