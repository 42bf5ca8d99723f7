// Texts of made-up words, as frequent as the words of real texts are, and questions that share words with them; the same at
// every run.

import { below, createRandom, pick, type Random } from '../search/random.ts';
import { spell } from '../search/vocabulary.ts';

const SEED = 20_261_123;

/** The most frequent words of a text, which carry no meaning; about half of all. */
const FUNCTION_WORDS = (
  'the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which ' +
  'were her all she there would their we him been has when who will more no if out so said what up its about into than ' +
  'them can only other new some could time these two may then do first any my now such like our over me even most made ' +
  'after also did many before must through back where much your way well down should because each just those how too'
).split(' ');

const VOCABULARY = 300_000;

/** The n-th word is about 1/n as frequent as the first (Zipf and Mandelbrot): here are the ranks of words at equal distances. */
const RANKS = new Uint32Array(1 << 22);
const weightAt = (rank: number): number => 1 / (rank + 2.7);
const total = Array.from({ length: VOCABULARY }, (_, rank) => weightAt(rank)).reduce(
  (sum, each) => sum + each,
);
for (let [place, rank, sum] = [0, 0, weightAt(0)]; place < RANKS.length; place++) {
  while (sum < (total * (place + 0.5)) / RANKS.length && rank < VOCABULARY - 1) sum += weightAt(++rank);
  RANKS[place] = rank;
}

export const WORDS: readonly string[] = Array.from(
  { length: VOCABULARY },
  (_, rank) => FUNCTION_WORDS[rank] ?? spell(rank),
);

const LENGTH_MIN = 120;
const LENGTH_MAX = 240;

/** The places in `WORDS` of a passage's words, by its number. */
export function ranksAt(number: number): number[] {
  const random = createRandom(SEED, 1, number);
  const length = LENGTH_MIN + below(random, LENGTH_MAX - LENGTH_MIN);
  return Array.from({ length }, () => RANKS[below(random, RANKS.length)] ?? 0);
}

/** The words of a passage, by its number. */
const passageAt = (number: number): string[] => ranksAt(number).map((rank) => WORDS[rank] ?? '');

const FIRST_CONTENT_RANK = FUNCTION_WORDS.length;
/** Words up to this rank are in more than one of two hundred passages. */
const LAST_COMMON_RANK = 2000;

/** As a person asks: three words without meaning, and six that a passage has. */
export function questionAt(number: number, passages: number): string {
  const random = createRandom(SEED, 2, number);
  const known = new Set(FUNCTION_WORDS);
  const words = passageAt(below(random, passages)).filter((word) => !known.has(word));
  return [...several(random, 3, FUNCTION_WORDS), ...several(random, 6, words)].join(' ');
}

/** Six words that many passages have, and no rare one: what costs a search most. */
export function commonQuestionAt(number: number): string {
  const random = createRandom(SEED, 3, number);
  return several(random, 6, WORDS.slice(FIRST_CONTENT_RANK, LAST_COMMON_RANK)).join(' ');
}

const several = (random: Random, count: number, words: readonly string[]): string[] =>
  Array.from({ length: count }, () => pick(random, words));
