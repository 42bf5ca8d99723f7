// How well a document fits the text of `q`, said in the plainest way: its words are compared one by one with those that are
// asked for. The figures are added in single precision and in the order in which Postgres adds them, so that ties are ties.

import type { Document } from '../../../src/documents/document.ts';

const WEIGHTS = { name: 1, labels: 0.4, slots: 0.2, summary: 0.1 };
const SUM_OF_SQUARES = 1.64493406685;
const [LENGTH_MAX, WORDS_MAX, VARIANTS_MAX] = [64, 10, 24];
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u;

function wordsOf(text: string): string[] {
  const plain = text.trim().normalize('NFKD').toLowerCase().replaceAll(/\p{M}/gu, '');
  const words: string[] = [];
  let open = '';
  for (const character of [...plain, ' ']) {
    if (/[\p{L}\p{N}]/u.test(character) && !UNSPACED.test(character)) {
      open += character;
      continue;
    }
    if (open !== '') words.push(open.length > LENGTH_MAX ? [...open].slice(0, LENGTH_MAX).join('') : open);
    open = '';
    if (UNSPACED.test(character)) words.push(character);
  }
  return words;
}

const textsIn = (value: unknown): string[] => {
  if (value === null || value === undefined) return [];
  return typeof value === 'object' ? Object.values(value).flatMap(textsIn) : [String(value)];
};

/** Each word of a document with what it weighs, in the order of the words' bytes. */
export function weighedWords(document: Document): ReadonlyMap<string, number> {
  const weighed = new Map<string, number>();
  const add = (texts: readonly string[], weight: number) => {
    for (const word of texts.flatMap(wordsOf)) weighed.set(word, Math.max(weight, weighed.get(word) ?? 0));
  };
  add([document.name], WEIGHTS.name);
  add([...(document.tags ?? []), ...(document.categories ?? [])], WEIGHTS.labels);
  add(textsIn(document.slots), WEIGHTS.slots);
  add(document.summary === null ? [] : [document.summary], WEIGHTS.summary);
  return new Map([...weighed].sort(byBytes));
}

type Alternative = readonly [word: string, weights: readonly number[]];

const byBytes = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  Buffer.compare(Buffer.from(a), Buffer.from(b));

/**
 * Ranks the words of documents by the text of `q`: undefined for a document that lacks one of those asked for. The vocabulary
 * holds the words that a mistyped one may mean.
 */
export function createRanking(text: string, vocabulary: readonly string[]) {
  const asked = [...new Set(wordsOf(text))].slice(0, WORDS_MAX);
  const groups = asked.map((word) => ({ word, meant: meantBy(word, vocabulary) }));
  const [first] = groups;
  const last = asked.at(-1);
  return (words: ReadonlyMap<string, number>): number | undefined => {
    if (first === undefined || last === undefined) return 0;
    const begun = [...words].flatMap(([word, weight]) => (word.startsWith(last) ? [weight] : []));
    const found = groups.map(
      ({ word, meant }) =>
        words.has(word) || meant.some((each) => words.has(each)) || (word === last && begun.length > 0),
    );
    if (found.includes(false)) return undefined;
    const same = (word: string): Alternative => [word, words.has(word) ? [words.get(word) ?? 0] : []];
    const spelt = 4 * mean(asked.map(same));
    return groups.length > 1 ? spelt : Math.fround(spelt + mean([[last, begun], ...first.meant.map(same)]));
  };
}

/** What the words that each alternative finds weigh together, by the number of alternatives. */
function mean(alternatives: readonly Alternative[]): number {
  let sum = 0;
  for (const weight of alternatives.toSorted(byBytes).flatMap(([, weights]) => weights))
    sum = Math.fround(sum + Math.fround(weight) / SUM_OF_SQUARES);
  return Math.fround(sum / alternatives.length);
}

function meantBy(word: string, vocabulary: readonly string[]): string[] {
  const allowed = /\p{N}/u.test(word) || word.length < 4 ? 0 : word.length < 9 ? 1 : 2;
  return vocabulary
    .map((other) => ({
      other,
      errors: Math.abs(other.length - word.length) > 2 ? 3 : errorsBetween(word, other),
    }))
    .filter(({ errors }) => errors > 0 && errors <= allowed)
    .sort((a, b) => a.errors - b.errors || (a.other < b.other ? -1 : 1))
    .slice(0, VARIANTS_MAX)
    .map(({ other }) => other);
}

/** Letters that are wrong, missing, too many, or swapped with a neighbour, tried one after the other. */
function errorsBetween(left: string, right: string): number {
  const [a, b] = [[...left], [...right]];
  const rows: number[][] = [b.map((_, index) => index)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? 0;
  rows[0] = [...(rows[0] ?? []), b.length];
  for (let row = 1; row <= a.length; row++) {
    rows[row] = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1] && row > 1 && column > 1;
      rows[row]?.push(
        Math.min(
          at(row - 1, column) + 1,
          at(row, column - 1) + 1,
          at(row - 1, column - 1) + (same ? 0 : 1),
          swapped ? at(row - 2, column - 2) + 1 : 3,
        ),
      );
    }
  }
  return at(a.length, b.length);
}
