// Long texts in many scripts: with and without blanks between words, of one code unit a character and of several.

/** Letters are those of a range of code points, or are listed. */
type Script = {
  name: string;
  letters: readonly [first: number, last: number] | string;
  blank: string;
  stop: string;
};

export const SCRIPTS: readonly Script[] = [
  { name: 'Latin', letters: [0x61, 0x7a], blank: ' ', stop: '. ' },
  { name: 'Latin without blanks', letters: [0x61, 0x7a], blank: '', stop: '' },
  { name: 'Arabic', letters: [0x0628, 0x064a], blank: ' ', stop: '؟ ' },
  { name: 'Hindi', letters: [0x0915, 0x0939], blank: ' ', stop: '। ' },
  { name: 'Thai', letters: [0x0e01, 0x0e2e], blank: '', stop: ' ' },
  { name: 'Thai without blanks', letters: [0x0e01, 0x0e2e], blank: '', stop: '' },
  { name: 'Burmese', letters: [0x1000, 0x1020], blank: '', stop: '။' },
  { name: 'Khmer', letters: [0x1780, 0x17a2], blank: '', stop: '។' },
  { name: 'Chinese', letters: [0x4e00, 0x4fff], blank: '', stop: '。' },
  { name: 'Japanese', letters: [0x3042, 0x3093], blank: '', stop: '。' },
  { name: 'Korean', letters: [0xac00, 0xae00], blank: ' ', stop: '. ' },
  { name: 'combining marks', letters: 'e\u0301\u0302\u0323o\u0308\u0304', blank: ' ', stop: '. ' },
  { name: 'emoji', letters: [0x1f600, 0x1f64f], blank: '', stop: '! ' },
];

const LETTERS_A_WORD = 3;
const WORDS_A_SENTENCE = 12;
const SENTENCES_A_PARAGRAPH = 10;
/** Different words: a question shares most of them with each passage. */
const VOCABULARY = 400;

/** A text of at least so many UTF-16 code units, the same each time. */
export function textIn({ letters, blank, stop }: Script, length: number): string {
  const alphabet =
    typeof letters === 'string'
      ? [...letters]
      : Array.from({ length: letters[1] - letters[0] + 1 }, (_, at) => String.fromCodePoint(letters[0] + at));
  const wordOf = (number: number): string =>
    Array.from(
      { length: LETTERS_A_WORD },
      (_, at) => alphabet[(number * 7 + at * 31 + ((number * at) % 13)) % alphabet.length],
    ).join('');
  const vocabulary = Array.from({ length: VOCABULARY }, (_, number) => wordOf(number));
  const parts: string[] = [];
  let size = 0;
  for (let word = 1; size < length; word++) {
    const endsSentence = word % WORDS_A_SENTENCE === 0;
    const endsParagraph = word % (WORDS_A_SENTENCE * SENTENCES_A_PARAGRAPH) === 0 && stop !== '';
    const part = `${vocabulary[(word * word + 3 * word) % VOCABULARY]}${endsSentence ? stop : blank}${endsParagraph ? '\n\n' : ''}`;
    parts.push(part);
    size += part.length;
  }
  return parts.join('');
}
