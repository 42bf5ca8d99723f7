// A text → its words, in any script, before stemming. Passages and questions are divided in the same way.

import { toNormalForm } from '../../core/normal-form.ts';
import { nextTimeSlice, SLICE_MS } from '../../core/time-slices.ts';
import { QUERY_WORDS_MAX, WORD_LENGTH_MAX } from './limits.ts';

const HAN = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;
/** Runs of one kind: Chinese and Japanese, Thai, and everything else that is letters and digits. */
const RUN =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+|[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+|[[\p{L}\p{N}\p{M}]--[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]]+/gv;
/** Scripts of South East Asia, which write no blanks between words. */
const UNSPACED = /^[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
/** What Arabic and Hebrew leave out as often as not: vowel signs, and the line that lengthens a word. */
const UNWRITTEN = /[\u064B-\u0652\u0670\u0640\u0591-\u05C7]/g;

const GRAM = 4;

let segmenter: Intl.Segmenter | undefined;
const segmenterOf = (): Intl.Segmenter => (segmenter ??= new Intl.Segmenter('th', { granularity: 'word' }));

/** The words in their order: lower case, compatibility forms unified. */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const run of runsOf(text)) pushWords(words, run);
  return words;
}

/** The first different words of a question; a long one is divided in slices of time. */
export async function firstWordsOf(query: string): Promise<string[]> {
  const first = new Set<string>();
  let endsAt = performance.now() + SLICE_MS;
  for (const run of runsOf(query)) {
    const words: string[] = [];
    pushWords(words, run);
    for (const word of words) if (first.size < QUERY_WORDS_MAX) first.add(word);
    if (first.size >= QUERY_WORDS_MAX) break;
    if (performance.now() > endsAt) endsAt = await nextTimeSlice();
  }
  return [...first];
}

/** Of a script of South East Asia. */
export const isUnspaced = (word: string): boolean => UNSPACED.test(word);

/** Chinese, Japanese, Thai and its like have no stems. */
export const hasStem = (word: string): boolean => !HAN.test(word) && !UNSPACED.test(word);

const toPlain = (text: string): string => toNormalForm(text, 'NFKC').toLowerCase().replaceAll(UNWRITTEN, '');

function* runsOf(text: string): Generator<string> {
  for (const [run] of toPlain(text).matchAll(RUN)) yield run;
}

function pushWords(words: string[], run: string): void {
  if (HAN.test(run)) for (const pair of pairsIn(run)) words.push(pair);
  else if (UNSPACED.test(run)) pushSegments(words, run);
  else words.push(run.length > WORD_LENGTH_MAX ? cut(run) : run);
}

/** A part of a text with the words that it is divided into; positions count code points, the end is excluded. */
export type Span = { start: number; end: number; words: readonly string[] };

/** Where the words of a text stand. The parts of Chinese and Japanese overlap, as their words do. */
export function* spansOf(text: string): Generator<Span> {
  let [counted, characters] = [0, 0];
  for (const found of text.matchAll(RUN)) {
    const [run] = found;
    characters += lengthOf(text.slice(counted, found.index));
    counted = found.index;
    // Parts of a plain run need not be made plain one by one, nor divided once more.
    const divide = toPlain(run) === run ? plainWordsOf : wordsOf;
    for (const [part, from] of partsOf(run)) {
      const start = characters + from;
      yield { start, end: start + lengthOf(part), words: divide(part) };
    }
  }
}

/** In code points. */
function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length++;
  return length;
}

/** The parts of a run that are words, and after how many characters of the run each begins. */
function* partsOf(run: string): Generator<[part: string, from: number]> {
  let from = 0;
  if (HAN.test(run)) for (const pair of pairsIn(run)) yield [pair, from++];
  else if (!UNSPACED.test(run)) yield [run, 0];
  else
    for (const { segment } of segmenterOf().segment(run)) {
      yield [segment, from];
      from += lengthOf(segment);
    }
}

function plainWordsOf(part: string): string[] {
  const words = [cut(part)];
  if (UNSPACED.test(part)) pushGrams(words, part);
  return words;
}

/** The words of a passage and of the headings above it, separated by blanks. */
export const passageWordsOf = ({ text, heading }: { text: string; heading: string | null }): string =>
  wordsOf(heading === null ? text : `${heading}\n${text}`).join(' ');

/** Chinese and Japanese by pairs of characters: a pair is mostly a word, and needs no dictionary to agree with another one. */
function pairsIn(run: string): string[] {
  const pairs: string[] = [];
  let last = '';
  for (const character of run) {
    if (last !== '') pairs.push(last + character);
    last = character;
  }
  return pairs.length === 0 ? [run] : pairs;
}

/**
 * Thai and its like by words of the dictionary, and by groups of four characters, which also agree where the dictionary divides
 * a question otherwise than a text.
 */
function pushSegments(words: string[], run: string): void {
  for (const { segment } of segmenterOf().segment(run)) words.push(cut(segment));
  pushGrams(words, run);
}

function pushGrams(words: string[], run: string): void {
  for (let from = 0; from + GRAM <= run.length; from++) words.push(`${run.slice(from, from + GRAM)}~`);
}

/** By code points, so that no surrogate is left alone. */
const cut = (word: string): string =>
  word.length <= WORD_LENGTH_MAX ? word : [...word.slice(0, WORD_LENGTH_MAX + 1)].slice(0, -1).join('');

/** ISO 639-1. */
export const VIETNAMESE = 'vi';

/** Letters of Vietnamese that no other widespread language has. */
const VIETNAMESE_LETTERS = /[ăđĩũơư\u1ea0-\u1ef9]/i;

export const looksVietnamese = (question: string): boolean =>
  VIETNAMESE_LETTERS.test(toNormalForm(question, 'NFC'));

/**
 * Each word with the one after it: Vietnamese writes a blank after each syllable, and most of its words have two. A blank between them:
 * no single word is equal to a pair.
 */
export const pairsOf = (words: readonly string[]): [first: string, pair: string][] =>
  words.slice(1).map((second, at) => {
    const first = words[at] as string;
    return [first, `${first} ${second}`];
  });
