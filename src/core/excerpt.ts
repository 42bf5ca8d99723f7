// The part of a text that deals with what another text says, by the words that both have: without a model, in any
// language. Words of scripts that put no space between words are compared by pairs of characters.

import { toNormalForm } from './normal-form.ts';

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** Longer words are equal if their beginnings are, so that endings matter less. */
const STEM_LENGTH = 7;
/** Shorter words say little. */
const SHORT_LENGTH = 3;
const WEIGHT_MAX = 5;
const NUMBER_WEIGHT = 4;

/** Terms by their weights: long words and numbers say more than short words do. */
export type Terms = ReadonlyMap<string, number>;

/** The terms of a text. Its cost is linear. */
export function termsOf(text: string): Map<string, number> {
  const terms = new Map<string, number>();
  for (const [word] of toNormalForm(text.toLowerCase(), 'NFKC').matchAll(WORD)) {
    if (UNSPACED.test(word)) for (const pair of pairsOf(word)) terms.set(pair, 1);
    else if (/\p{N}/u.test(word)) terms.set(word, NUMBER_WEIGHT);
    else if (word.length >= SHORT_LENGTH)
      terms.set(word.slice(0, STEM_LENGTH), Math.min(word.length - SHORT_LENGTH + 1, WEIGHT_MAX));
  }
  return terms;
}

function pairsOf(word: string): string[] {
  const characters = [...word];
  return characters.length < 2
    ? characters
    : characters.slice(1).map((each, at) => `${characters[at]}${each}`);
}

/** The terms that are not among the others. */
export const termsWithout = (terms: Terms, others: Terms): Map<string, number> =>
  new Map([...terms].filter(([term]) => !others.has(term)));

const SENTENCES = new Intl.Segmenter(undefined, { granularity: 'sentence' });

/** Segmenting a line is slow; most lines of tables and lists have only one sentence, for nothing in them ends one. */
const ENDS_SENTENCE = /[\p{Sentence_Terminal}\r\u0085\u2028\u2029]/u;

type Span = { start: number; end: number };

/** The sentences of a text, and its lines, without the blanks around them. */
export function sentencesOf(text: string): Span[] {
  const spans: Span[] = [];
  let lineStart = 0;
  for (const line of text.split('\n')) {
    const segments = ENDS_SENTENCE.test(line) ? SENTENCES.segment(line) : [{ segment: line, index: 0 }];
    for (const { segment, index } of segments) {
      const start = lineStart + index + (segment.length - segment.trimStart().length);
      const end = lineStart + index + segment.trimEnd().length;
      if (end > start) spans.push({ start, end });
    }
    lineStart += line.length + 1;
  }
  return spans;
}

export type Excerpt = {
  /** A part of the text: whole sentences, unless one is longer than an excerpt may be. `''` for a text without one. */
  text: string;
  /** The share of the weight of the terms that the excerpt has, from 0 to 1; and how many of them. */
  share: number;
  shared: number;
};

/** A further sentence is taken in if it adds this share. */
const GAIN_MIN = 0.15;

/**
 * Finds excerpts of one text, of at most so many UTF-16 units: the sentence that has most of the terms, with those beside
 * it that add to them. Its cost is that of the terms that both have.
 */
export function createExcerpts(text: string, lengthMax: number): (terms: Terms) => Excerpt {
  const sentences = sentencesOf(text).map((span) => ({
    ...span,
    terms: termsOf(text.slice(span.start, span.end)),
  }));
  const sentencesWith = Map.groupBy(
    sentences.flatMap((sentence, at) => [...sentence.terms.keys()].map((term) => ({ term, at }))),
    ({ term }) => term,
  );
  const spanOf = (from: number, to: number): Span => ({
    start: sentences[from]?.start ?? 0,
    end: sentences[to]?.end ?? 0,
  });

  return (terms) => {
    const best = sentenceWithMost(terms, sentencesWith);
    const uncovered = new Map(terms);
    const take = (at: number): void => {
      for (const term of sentences[at]?.terms.keys() ?? []) uncovered.delete(term);
    };
    const gainOf = (at: number): number =>
      weightOf([...uncovered].filter(([term]) => sentences[at]?.terms.has(term) === true));
    take(best);
    const all = weightOf(terms);
    let [from, to] = [best, best];
    for (;;) {
      const next = gainOf(from - 1) > gainOf(to + 1) ? from - 1 : to + 1;
      const [first, last] = [Math.min(from, next), Math.max(to, next)];
      const { start, end } = spanOf(first, last);
      const gain = gainOf(next);
      if (gain === 0 || gain < all * GAIN_MIN || end - start > lengthMax) break;
      [from, to] = [first, last];
      take(next);
    }
    const { start, end } = spanOf(from, to);
    return {
      text: cutAtWord(text.slice(start, end), terms, lengthMax),
      share: all === 0 ? 0 : 1 - weightOf(uncovered) / all,
      shared: terms.size - uncovered.size,
    };
  };
}

function sentenceWithMost(
  terms: Terms,
  sentencesWith: ReadonlyMap<string, readonly { at: number }[]>,
): number {
  const weights = new Map<number, number>();
  for (const [term, weight] of terms)
    for (const { at } of sentencesWith.get(term) ?? []) weights.set(at, (weights.get(at) ?? 0) + weight);
  let [best, most] = [0, 0];
  for (const [at, weight] of weights)
    if (weight > most || (weight === most && at < best)) [best, most] = [at, weight];
  return best;
}

export const weightOf = (terms: Iterable<[string, number]>): number => {
  let sum = 0;
  for (const [, weight] of terms) sum += weight;
  return sum;
};

/** The part from the first of the terms on, or before it where the end is near; between two words. */
function cutAtWord(sentence: string, terms: Terms, lengthMax: number): string {
  if (sentence.length <= lengthMax) return sentence;
  const words = [...sentence.matchAll(WORD)];
  const first = words.find(([word]) => [...termsOf(word).keys()].some((term) => terms.has(term)));
  const from = Math.min(first?.index ?? 0, sentence.length - lengthMax);
  const start = words.find(({ index }) => index >= from)?.index ?? from;
  const last = words.findLast(
    ({ 0: word, index }) => index >= start && index + word.length <= start + lengthMax,
  );
  const end = last === undefined ? start + lengthMax : last.index + last[0].length;
  // Half of a character is none.
  return sentence.slice(start, end).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '');
}
