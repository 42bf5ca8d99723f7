// Vietnamese writes a blank after each syllable, and most of its words have two: neighbouring syllables are counted like a word.

import { toNormalForm } from '../../core/normal-form.ts';

/** ISO 639-1. */
export const VIETNAMESE = 'vi';

/** Letters that no other widespread language has. */
const OWN_LETTERS = /[ăđĩũơư\u1ea0-\u1ef9]/i;

/** Each word with the one after it. A blank between them: no single word is equal to a pair. */
export const pairsOf = (words: readonly string[]): [first: string, pair: string][] =>
  words.slice(1).map((second, at) => {
    const first = words[at] as string;
    return [first, `${first} ${second}`];
  });

export const looksVietnamese = (question: string): boolean => OWN_LETTERS.test(toNormalForm(question, 'NFC'));
