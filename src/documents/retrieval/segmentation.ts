// A text → its words, in any script, before stemming. Passages and questions are divided in the same way.

import { toNormalForm } from '../../core/normal-form.ts';
import { WORD_LENGTH_MAX } from './limits.ts';

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

/** The words in their order: lower case, compatibility forms unified. */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  const plain = toNormalForm(text, 'NFKC').toLowerCase().replaceAll(UNWRITTEN, '');
  for (const [run] of plain.matchAll(RUN)) {
    if (HAN.test(run)) pushPairs(words, run);
    else if (UNSPACED.test(run)) pushSegments(words, run);
    else words.push(run.length > WORD_LENGTH_MAX ? cut(run) : run);
  }
  return words;
}

/** A part of a text with the words that it is divided into; positions count code points, the end is excluded. */
export type Span = { start: number; end: number; words: readonly string[] };

/** Where the words of a text stand. The parts of Chinese and Japanese overlap, as their words do. */
export function spansOf(text: string): Span[] {
  const spans: Span[] = [];
  let [counted, characters] = [0, 0];
  for (const found of text.matchAll(RUN)) {
    characters += [...text.slice(counted, found.index)].length;
    counted = found.index;
    for (const [part, from] of partsOf(found[0])) {
      const start = characters + from;
      spans.push({ start, end: start + [...part].length, words: wordsOf(part) });
    }
  }
  return spans;
}

/** The parts of a run that are words, and after how many characters of the run each begins. */
function partsOf(run: string): [part: string, from: number][] {
  if (HAN.test(run)) {
    const characters = [...run];
    if (characters.length < 2) return [[run, 0]];
    return characters.slice(1).map((character, at) => [`${characters[at]}${character}`, at]);
  }
  if (!UNSPACED.test(run)) return [[run, 0]];
  segmenter ??= new Intl.Segmenter('th', { granularity: 'word' });
  let from = 0;
  return [...segmenter.segment(run)].map(({ segment }) => {
    const part: [string, number] = [segment, from];
    from += [...segment].length;
    return part;
  });
}

/** The words of a passage and of the headings above it, separated by blanks. */
export const passageWordsOf = ({ text, heading }: { text: string; heading: string | null }): string =>
  wordsOf(heading === null ? text : `${heading}\n${text}`).join(' ');

/** Chinese and Japanese by pairs of characters: a pair is mostly a word, and needs no dictionary to agree with another one. */
function pushPairs(words: string[], run: string): void {
  let last = '';
  let pairs = 0;
  for (const character of run) {
    if (last !== '') {
      words.push(last + character);
      pairs++;
    }
    last = character;
  }
  if (pairs === 0) words.push(run);
}

/**
 * Thai and its like by words of the dictionary, and by groups of four characters, which also agree where the dictionary divides
 * a question otherwise than a text.
 */
function pushSegments(words: string[], run: string): void {
  segmenter ??= new Intl.Segmenter('th', { granularity: 'word' });
  for (const { segment } of segmenter.segment(run)) words.push(cut(segment));
  for (let from = 0; from + GRAM <= run.length; from++) words.push(`${run.slice(from, from + GRAM)}~`);
}

/** By code points, so that no surrogate is left alone. */
const cut = (word: string): string =>
  word.length <= WORD_LENGTH_MAX ? word : [...word.slice(0, WORD_LENGTH_MAX + 1)].slice(0, -1).join('');
