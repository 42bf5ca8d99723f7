import { detect } from 'tinyld';

/** Characters by which a language is recognised: from the middle, where no title page and no licence stands. */
const SAMPLE_LENGTH = 4000;
/** Below so many letters a guess is unreliable; a letter of a script that few languages share counts as several. */
const LETTERS_MIN = 50;
const TELLING = 4;

/** The language of a text (ISO 639-1); null where there is too little of it, and for code and figures. */
export function detectLanguage(text: string): string | null {
  const from = Math.max(0, Math.floor(text.length / 2 - SAMPLE_LENGTH / 2));
  const sample = text.slice(from, from + SAMPLE_LENGTH).toWellFormed();
  const letters = sample.match(/\p{L}/gu)?.length ?? 0;
  const shared = sample.match(/[\p{Script=Latin}\p{Script=Cyrillic}]/gu)?.length ?? 0;
  if (shared + (letters - shared) * TELLING < LETTERS_MIN) return null;
  return toLanguage(detect(sample));
}

/** The primary language of a tag such as `en-GB`; null where the text is no such tag. */
export function toLanguage(tag: string | null | undefined): string | null {
  const primary = /^[a-z]{2,3}(?=[-_]|$)/i.exec(tag?.trim() ?? '')?.[0]?.toLowerCase();
  return primary ?? null;
}
