// Words as the index has them: digests of a word with its workspace, of seven characters. So a list in the index belongs to one
// workspace, however many have the word, and no row is longer for long words. 36 bits: of a million different words fewer than ten
// pairs share a digest, which costs their rank a little.

import { OCCURRENCES_MAX } from './limits.ts';
import { pairsOf } from './segmentation.ts';
import type { Stems } from './stems.ts';

export function createLexemes(workspaceId: string) {
  const seed = Bun.hash.xxHash64(workspaceId);
  const digests = new Map<string, string>();
  const digest = (word: string): string =>
    digests.getOrInsertComputed(word, () =>
      Number(Bun.hash.xxHash64(word, seed) & 0xf_ffff_ffffn).toString(36),
    );
  return {
    stem: digest,
    /** A word as it is written, where its stem differs, or a pair of words. */
    written: (word: string): string => digest(`=${word}`),
  };
}

/** The words of a passage as a tsvector: stems, and with them the words as they are written; on request also each pair of neighbours. */
export function toVector(
  { stem, written }: ReturnType<typeof createLexemes>,
  words: readonly string[],
  stems: Stems,
  { pairs = false } = {},
): string {
  const occurrences = new Map<string, number>();
  const add = (lexeme: string): unknown => occurrences.set(lexeme, (occurrences.get(lexeme) ?? 0) + 1);
  for (const word of words) {
    const stemmed = stems(word);
    if (stemmed === null) continue;
    add(stem(stemmed));
    if (stemmed !== word) add(written(word));
  }
  if (pairs) for (const [, pair] of pairsOf(words)) add(written(pair));
  let vector = '';
  for (const [lexeme, count] of occurrences)
    vector += `'${lexeme}':${POSITIONS[Math.min(count, OCCURRENCES_MAX)]} `;
  return vector;
}

/** By the number of occurrences: positions are counted, not compared. */
const POSITIONS = Array.from({ length: OCCURRENCES_MAX + 1 }, (_, count) =>
  Array.from({ length: count }, (_, index) => index + 1).join(),
);
