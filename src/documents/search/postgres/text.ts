// `q=` in Postgres: every word of it must be in the document, the last one may be unfinished, and longer ones may be
// mistyped. Ranked by where the words stand (name, labels, slots, summary) and whether they are spelt so.

import type { Fragment, Transaction } from '../../../infra/postgres/client.ts';
import { normalise, ONE_ERROR_LENGTH_MIN, TWO_ERRORS_LENGTH_MIN, wordPrefix, wordsIn } from '../terms.ts';

/** Of rows `t`: whether they match, and how well. */
export type TextSearch = { matches: Fragment; rank: Fragment };

/** Words that are asked for; more would only narrow what is narrow already. */
const WORDS_MAX = 10;
/** Words that resemble the given one, and of these the ones that are taken for it. */
const SIMILAR_MAX = 400;
const VARIANTS_MAX = 24;
/** What is spelt as asked weighs this much more than what may be meant. */
const SPELT_SO = 4;

/** Undefined for a text without a word: it leaves nothing out. */
export async function searchText(
  sql: Transaction,
  workspaceId: string,
  text: string,
): Promise<TextSearch | undefined> {
  const words = [...new Set(wordsIn(normalise(text)))].slice(0, WORDS_MAX);
  const last = words.at(-1);
  if (last === undefined) return undefined;
  const variants = await similarWords(
    sql,
    words.filter((word) => errorsAllowed(word) > 0),
  );
  const prefix = wordPrefix(workspaceId);
  const groups = words.map((word) => {
    const given = `'${prefix}${word}'${word === last ? ':*' : ''}`;
    const meant = (variants.get(word) ?? []).map((variant) => `'${prefix}${variant}'`);
    return `(${[given, ...meant].join(' | ')})`;
  });
  const asked = groups.join(' & ');
  const spelt = sql`ts_rank(t.words, ${words.map((word) => `'${prefix}${word}'`).join(' | ')}::tsquery)`;
  return {
    matches: sql`t.words @@ ${asked}::tsquery`,
    // All words stand at position 1, so that the rank of several that must all be there is the same everywhere.
    rank: words.length > 1 ? spelt : sql`(${spelt} * ${SPELT_SO} + ts_rank(t.words, ${asked}::tsquery))`,
  };
}

const errorsAllowed = (word: string): number => {
  if (/\p{N}/u.test(word)) return 0;
  return word.length >= TWO_ERRORS_LENGTH_MIN ? 2 : word.length >= ONE_ERROR_LENGTH_MIN ? 1 : 0;
};

/** Words that some document has, and that each of the given ones may have been meant to be; the closest first. */
async function similarWords(sql: Transaction, words: readonly string[]): Promise<Map<string, string[]>> {
  if (words.length === 0) return new Map();
  const swapped = words.flatMap(swaps);
  const rows = await sql<{ given: string; word: string }[]>`
    SELECT given, candidate.word FROM unnest(${words as string[]}::text[]) AS given, LATERAL (
      (SELECT word FROM document_words WHERE word % given AND word <> given
         AND length(word) BETWEEN length(given) - 2 AND length(given) + 2
       ORDER BY similarity(word, given) DESC, word LIMIT ${SIMILAR_MAX})
      UNION
      SELECT word FROM document_words WHERE word = ANY (
        SELECT swapped FROM unnest(${swapped.map(({ source }) => source)}::text[],
          ${swapped.map((swap) => swap.swapped)}::text[]) AS swap (source, swapped) WHERE source = given)) AS candidate`;
  const found = new Map<string, string[]>();
  for (const word of words) {
    const close = rows
      .filter(({ given }) => given === word)
      .map(({ word: variant }) => ({ variant, errors: typingErrors(word, variant) }))
      .filter(({ errors }) => errors > 0 && errors <= errorsAllowed(word))
      .sort((left, right) => left.errors - right.errors || (left.variant < right.variant ? -1 : 1));
    found.set(
      word,
      close.slice(0, VARIANTS_MAX).map(({ variant }) => variant),
    );
  }
  return found;
}

/** The word with two neighbours swapped: short ones share too few trigrams with what was meant. */
const swaps = (word: string): { source: string; swapped: string }[] => {
  const letters = [...word];
  return letters.slice(1).map((letter, index) => {
    const swapped = letters.with(index, letter).with(index + 1, letters[index] ?? '');
    return { source: word, swapped: swapped.join('') };
  });
};

/**
 * How many letters are wrong, missing, too many or swapped with a neighbour (the optimal string alignment distance);
 * 3 stands for more than two.
 */
export function typingErrors(left: string, right: string): number {
  const [a, b] = [[...left], [...right]];
  if (Math.abs(a.length - b.length) > 2) return 3;
  let beforeLast: number[] = [];
  let last = b.map((_, index) => index).concat(b.length);
  for (const [row, letter] of a.entries()) {
    const current = [row + 1];
    for (const [column, other] of b.entries()) {
      const replaced = (last[column] ?? 0) + (letter === other ? 0 : 1);
      const inserted = (current[column] ?? 0) + 1;
      const deleted = (last[column + 1] ?? 0) + 1;
      const swapped =
        row > 0 && column > 0 && letter === b[column - 1] && a[row - 1] === other
          ? (beforeLast[column - 1] ?? 0) + 1
          : Number.POSITIVE_INFINITY;
      current.push(Math.min(replaced, inserted, deleted, swapped));
    }
    beforeLast = last;
    last = current;
  }
  return Math.min(3, last[b.length] ?? 3);
}
