// An estimate of the tokens of a text, by the scripts of its characters. Vocabularies of embedding models differ; this is
// within about a third of those of multilingual models, which suffices for the size of passages.

const BLANK = 0;
const ASCII = 0.25;
const ALPHABETIC = 0.4;
const DENSE = 0.8;

/** Of a UTF-16 code unit; of a surrogate pair each half counts. */
function weightOf(code: number): number {
  if (code <= 0x20) return BLANK;
  if (code < 0x80) return ASCII;
  // Latin to Arabic, and what else is written with alphabets below the scripts of India.
  if (code < 0x0900) return ALPHABETIC;
  // The scripts of India and South East Asia, then letters of many kinds.
  if (code < 0x2e80) return ALPHABETIC;
  // Han, kana, hangul, and surrogates.
  return DENSE;
}

/** The estimated tokens of a part of a text. */
export function estimateTokens(text: string, start = 0, end = text.length): number {
  let tokens = 0;
  for (let index = start; index < end; index++) tokens += weightOf(text.charCodeAt(index));
  return tokens;
}
