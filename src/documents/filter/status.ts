// Status is a word of three, so that filters on it are decided without asking any document.

import type { Predicate, TextTest } from './ast.ts';

const WORDS = ['public', 'private', 'deleted'] as const;
export type StatusWord = (typeof WORDS)[number];

/**
 * The statuses that the status predicates allow. `deleted` needs more than not to be excluded: a positive test that
 * the word passes, so that a search finds no binned documents unless it asks for them.
 */
export function statusWordsUnder(predicates: readonly Predicate[]): StatusWord[] {
  const tests = predicates.flatMap((predicate) => (predicate.attribute === 'status' ? [predicate] : []));
  return WORDS.filter((word) => {
    const allowed = tests.every(({ negated, test }) => passes(word, test) !== negated);
    const named = tests.some(({ negated, test }) => !negated && passes(word, test));
    return allowed && (word !== 'deleted' || named);
  });
}

function passes(word: StatusWord, test: TextTest): boolean {
  switch (test.kind) {
    case 'one-of':
      return test.values.includes(word);
    case 'contains':
      return word.includes(test.value);
    case 'starts-with':
      return word.startsWith(test.value);
    case 'ends-with':
      return word.endsWith(test.value);
    case 'empty':
      return false;
  }
}
