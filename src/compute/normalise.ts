// Normalisation of texts for the embedding kernel: only their words are kept.

import { toNormalForm } from '../core/normal-form.ts';

const NOT_WORDS = /[^\p{L}\p{M}\p{N}\p{S}]+/gu;
const ASCII = /^\p{ASCII}*$/u;
const ASCII_NOT_WORDS = /[^0-9a-z$+<=>^`|~]+/g;
const FINAL_SIGMA = /ς/g;

/**
 * A text as words with single blanks between them: well-formed (a lone surrogate is U+FFFD), NFKC, without differences
 * of case. Letters, marks, digits and symbols make words, all else separates them.
 */
export function normaliseText(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase().replace(ASCII_NOT_WORDS, ' ');
  const composed = toNormalForm(text.toWellFormed(), 'NFKC');
  // Both conversions together are full case folding (ß, ẞ and SS are equal), except for the final sigma.
  const folded = composed.toLowerCase().toUpperCase().toLowerCase().replace(FINAL_SIGMA, 'σ');
  return toNormalForm(folded, 'NFKC').replace(NOT_WORDS, ' ');
}
