// How text becomes what an index looks up, for the entries of documents and for questions alike, so that both compare the same:
// normalised text, its words, and terms, which are digests that stand for "this document has that".

import { toNormalForm } from '../../core/normal-form.ts';

/**
 * Text as filters compare it and order it: trimmed, NFKD-decomposed, lower-cased. Accents stay, as combining marks.
 * Both engines store and are asked for text in this form, so that neither folds text by rules of its own.
 */
export const normalise = (text: string): string => toNormalForm(text.trim(), 'NFKD').toLowerCase();

/** UTF-16 code units of a text that are worked on in one step. */
const STEP_LENGTH = 16_384;
const BELONGS_TO_THE_LAST = /^[\p{M}\uff9e\uff9f\udc00-\udfff]/u;

/** The text in parts that can be decomposed one by one: none begins with a mark. */
function* partsOf(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    let to = Math.min(text.length, from + STEP_LENGTH);
    while (to < text.length && BELONGS_TO_THE_LAST.test(text.slice(to, to + 2))) to += 1;
    yield text.slice(from, to);
    from = to;
  }
}

/** As `normalise`, in steps: a long text takes long. */
export function* normaliseInSteps(text: string): Generator<void, string> {
  const trimmed = text.trim();
  if (trimmed.length <= STEP_LENGTH) return normalise(trimmed);
  const parts: string[] = [];
  for (const part of partsOf(trimmed)) {
    parts.push(toNormalForm(part, 'NFKD'));
    yield;
  }
  return parts.join('').toLowerCase();
}

/** Scripts that write words without blanks between them: there every character counts as a word. */
const UNSPACED = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}`;
const WORD = new RegExp(String.raw`[${UNSPACED}]|(?:(?![${UNSPACED}])[\p{L}\p{N}])+`, 'gu');
const ONE_CHARACTER_WORD = new RegExp(`^[${UNSPACED}]$`, 'u');
const MARKS = /\p{M}/gu;

/** Longer words are cut: Postgres takes 2 KB, people type less. */
const WORD_LENGTH_MAX = 64;
/** Characters of all words of one document; Postgres holds a megabyte of them. */
const WORDS_LENGTH_MAX = 200_000;

/** From these lengths on a word of `q=` may have one and two typing errors, on every engine. */
export const ONE_ERROR_LENGTH_MIN = 4;
export const TWO_ERRORS_LENGTH_MIN = 9;

export type Weight = 'A' | 'B' | 'C' | 'D';

/** The words of normalised text, without accents, in their order. */
export const wordsIn = (text: string): string[] => (text.replaceAll(MARKS, '').match(WORD) ?? []).map(cut);

/** By code points, so that no surrogate is left alone. */
const cut = (word: string): string =>
  word.length <= WORD_LENGTH_MAX
    ? word
    : [...word.slice(0, 2 * WORD_LENGTH_MAX)].slice(0, WORD_LENGTH_MAX).join('');

const RUN = /[\p{L}\p{N}\p{M}]+/gu;

/** The runs of letters, digits and marks in normalised text, as they are written. */
export const runsIn = (text: string): string[] => text.match(RUN) ?? [];

/** What leads every word of a workspace in the index. */
export const wordPrefix = (workspaceId: string): string =>
  new Bun.CryptoHasher('sha256').update(workspaceId).digest('hex').slice(0, 8);

/** Words of a text that are collected in one step. */
const WORDS_A_STEP = 256;

/**
 * The words of texts of decreasing weight as a tsvector; a word counts where it weighs most. `complete` is false when
 * words were cut or left out.
 */
export function* collectWords(
  workspaceId: string,
  texts: readonly (readonly [Weight, readonly string[]])[],
): Generator<void, { words: string; complete: boolean; vocabulary: string[] }> {
  const prefix = wordPrefix(workspaceId);
  const found = new Map<string, Weight>();
  let length = 0;
  let count = 0;
  let complete = true;
  collecting: for (const [weight, parts] of texts) {
    for (const part of parts) {
      const plain: string[] = [];
      for (const piece of partsOf(part)) {
        plain.push(piece.replaceAll(MARKS, ''));
        if (piece.length === STEP_LENGTH) yield;
      }
      for (const [whole] of plain.join('').matchAll(WORD)) {
        if (++count % WORDS_A_STEP === 0) yield;
        const word = cut(whole);
        if (found.has(word)) continue;
        length += word.length + prefix.length;
        // A word this long may have been cut.
        if (word.length >= WORD_LENGTH_MAX || length > WORDS_LENGTH_MAX) complete = false;
        if (length > WORDS_LENGTH_MAX) break collecting;
        found.set(word, weight);
      }
      if (++count % WORDS_A_STEP === 0) yield;
    }
  }
  const words = [...found].map(([word, weight]) => `'${prefix}${word}':1${weight}`).join(' ');
  return { words, complete, vocabulary: [...found.keys()] };
}

/**
 * A condition on words that every text containing the piece fulfils, as a tsquery; undefined where it has no word
 * that is sure to stand whole (or at least to begin) in such a text.
 */
export function necessaryWords(
  workspaceId: string,
  piece: string,
  anchored: { start: boolean; end: boolean },
): string | undefined {
  const prefix = wordPrefix(workspaceId);
  const plain = piece.replaceAll(MARKS, '');
  const matches = [...plain.matchAll(WORD)];
  const conditions = matches.flatMap((match) => {
    const word = cut(match[0]);
    const whole = ONE_CHARACTER_WORD.test(word);
    const begins = whole || anchored.start || match.index > 0;
    const ends = whole || anchored.end || match.index + match[0].length < plain.length;
    return begins ? [`'${prefix}${word}'${ends ? '' : ':*'}`] : [];
  });
  return conditions.length === 0 ? undefined : [...new Set(conditions)].slice(0, 16).join(' & ');
}

/** The one word that a piece of text is, or is part of; undefined where it is more, or less than can be looked up. */
export function soleWord(piece: string): string | undefined {
  const words = wordsIn(piece);
  const [word] = words;
  const fits = word !== undefined && word.length >= 3 && word.length < WORD_LENGTH_MAX;
  return words.length === 1 && fits ? word : undefined;
}

/** Being empty is a term of its own for the attributes that mostly are filled, being filled for the others. */
export const RARER_SIDES = {
  tags: 'empty',
  categories: 'empty',
  file_type: 'empty',
  file_hash: 'empty',
  summary: 'filled',
  slots: 'filled',
  access: 'filled',
} as const;
export type SidedAttribute = keyof typeof RARER_SIDES;

export type LabelledAttribute = 'tags' | 'categories' | 'file_type' | 'file_hash';

/** Makes a workspace's terms, as 32 hexadecimal digits; values are normalised text. */
export type Terms = ReturnType<typeof createTerms>;

/**
 * 128 bits of SHA-256 over workspace, kind and value: terms need no dictionary that writers would have to share, and no two of a
 * workspace are ever the same.
 */
export function createTerms(workspaceId: string) {
  const digest = (...parts: string[]): string =>
    new Bun.CryptoHasher('sha256')
      .update([workspaceId, ...parts].join('\0'))
      .digest('hex')
      .slice(0, 32);
  return {
    owner: (ownerId: string) => digest('owner', ownerId),
    /** An e-mail as permission checks compare it. */
    curator: (email: string) => digest('curator', email),
    label: (attribute: LabelledAttribute, value: string) => digest(attribute, value),
    leaf: (attribute: 'access' | 'slots', key: string, value: string) => digest(attribute, key, value),
    side: (attribute: SidedAttribute) => digest(`${RARER_SIDES[attribute]}:${attribute}`),
  };
}
