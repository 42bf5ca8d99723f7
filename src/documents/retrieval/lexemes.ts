// Words as the index has them: digests of a word with its workspace, six characters each. So a list in the index belongs to
// one workspace, however many have the word, and no row is longer for long words. 36 bits: of a million different words
// fewer than ten pairs share a digest, which costs their rank a little.

import { OCCURRENCES_MAX } from './limits.ts';
import type { Stems } from './stems.ts';
import { pairsOf } from './syllables.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const CHARACTERS = 6;

export type Lexemes = ReturnType<typeof createLexemes>;

export function createLexemes(workspaceId: string) {
  const seed = Bun.hash.xxHash64(workspaceId);
  const digests = new Map<string, string>();
  const toDigest = (word: string): string => {
    const hash = Bun.hash.xxHash64(word, seed);
    let low = Number(hash & 0x3ffffn);
    let high = Number((hash >> 18n) & 0x3ffffn);
    let text = '';
    for (let place = 0; place < CHARACTERS / 2; place++) {
      text += ALPHABET.charAt(low & 63) + ALPHABET.charAt(high & 63);
      low >>= 6;
      high >>= 6;
    }
    return text;
  };
  const digest = (word: string): string => digests.getOrInsertComputed(word, toDigest);
  return {
    stem: digest,
    /** A word as it is written, where its stem differs. */
    written: (word: string): string => digest(`=${word}`),
  };
}

/** The words of a passage as a tsvector: stems, and beside them the words as they are written; on request also each pair of neighbours. */
export function toVector(
  lexemes: Lexemes,
  words: readonly string[],
  stems: Stems,
  { pairs = false } = {},
): string {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const occurrences = new Map<string, number>();
  const add = (lexeme: string, count: number) =>
    occurrences.set(lexeme, Math.min(OCCURRENCES_MAX, (occurrences.get(lexeme) ?? 0) + count));
  for (const [word, count] of counts) {
    const stem = stems(word);
    if (stem === null) continue;
    add(lexemes.stem(stem), count);
    if (stem !== word) add(lexemes.written(word), count);
  }
  if (pairs) for (const [, pair] of pairsOf(words)) add(lexemes.written(pair), 1);
  let vector = '';
  for (const [lexeme, count] of occurrences) vector += `'${lexeme}':${POSITIONS[count - 1]} `;
  return vector;
}

/** `1`, `1,2`, `1,2,3` …: positions are counted, not compared. */
const POSITIONS = Array.from({ length: OCCURRENCES_MAX }, (_, last) =>
  Array.from({ length: last + 1 }, (_, index) => index + 1).join(','),
);
