// Words of a text, for `q=` and for finding the few documents that can contain a piece of text.

/** Scripts that write words without blanks between them: there every character counts as a word. */
const UNSPACED = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}`;
const WORD = new RegExp(String.raw`[${UNSPACED}]|(?:(?![${UNSPACED}])[\p{L}\p{N}])+`, 'gu');
const ONE_CHARACTER_WORD = new RegExp(`^[${UNSPACED}]$`, 'u');
const MARKS = /\p{M}/gu;

/** Longer words are cut: Postgres takes 2 KB, people type less. */
const WORD_LENGTH_MAX = 64;
/** Characters of all words of one document; Postgres holds a megabyte of them. */
const WORDS_LENGTH_MAX = 200_000;
/** What may be mistyped: letters, neither too few nor a code of some kind. */
const SPELLABLE = /^\p{L}{3,32}$/u;

export type Weight = 'A' | 'B' | 'C' | 'D';

/** The words of normalised text, without accents, in their order. */
export const wordsIn = (text: string): string[] => (text.replaceAll(MARKS, '').match(WORD) ?? []).map(cut);

/** By code points, so that no surrogate is left alone. */
const cut = (word: string): string =>
  word.length <= WORD_LENGTH_MAX ? word : [...word].slice(0, WORD_LENGTH_MAX).join('');

/** What leads every word of a workspace in the index. */
export const wordPrefix = (workspaceId: string): string =>
  new Bun.CryptoHasher('sha256').update(workspaceId).digest('hex').slice(0, 8);

/** The words of texts of decreasing weight as a tsvector; a word counts where it weighs most. */
export function collectWords(
  workspaceId: string,
  texts: readonly (readonly [Weight, readonly string[]])[],
): { words: string; complete: boolean; vocabulary: string[] } {
  const prefix = wordPrefix(workspaceId);
  const found = new Map<string, Weight>();
  let length = 0;
  for (const [weight, parts] of texts) {
    for (const word of parts.flatMap(wordsIn)) {
      if (found.has(word)) continue;
      length += word.length + prefix.length;
      if (length > WORDS_LENGTH_MAX) return { ...renderWords(prefix, found), complete: false };
      found.set(word, weight);
    }
  }
  return { ...renderWords(prefix, found), complete: true };
}

function renderWords(prefix: string, found: Map<string, Weight>): { words: string; vocabulary: string[] } {
  const words = [...found].map(([word, weight]) => `'${prefix}${word}':1${weight}`).join(' ');
  return { words, vocabulary: [...found.keys()].filter((word) => SPELLABLE.test(word)) };
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
