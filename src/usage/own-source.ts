// The source of the service's own events, and whatever a person could take for it.

import { toNormalForm } from '../core/normal-form.ts';
import { SOURCE_BYTES_MAX } from './limits.ts';

/** No other sender may use it: its events say who has signed in, and what was written. */
export const OWN_SOURCE = 'atrium';

/** Letters that look like the one in front of them, after compatibility forms, accents and case are gone. */
const LOOK_ALIKES = [
  'aаαɑᴀꭺᗅꓮ⍺',
  'tтτᴛꭲꓔꞇ',
  'rгᴦʀꭱꮢꓣꭇꭈⲅɾɼ',
  'iіιıɩɪӏꙇꭵⲓ1l|ǀӀן',
  'uυʋսᴜꭎꭒꓴᑌиμ',
  'mмᴍϻⲙꓟꮇᗰɱ',
].map(([letter = '', ...others]) => [letter, others] as const);
const LETTERS = new Map(LOOK_ALIKES.flatMap(([letter, others]) => others.map((each) => [each, letter])));

/** The first letters of alphabets in boxes and of flags, which have no plain form in Unicode. */
const BOXED_A = [0x1f150, 0x1f170, 0x1f1e6];

/** Blanks, controls, accents, and characters without a shape of their own. */
const UNSEEN = /[\p{Z}\p{C}\p{M}\p{Default_Ignorable_Code_Point}]/gu;
/** What lets a text be shown backwards. */
const BACKWARDS = /[\u202b\u202e\u2067]/;
/** The letters in common from which on a name with letters of other scripts counts as a look-alike. */
const COMMON_LETTERS_MIN = 3;
/** A text of visible ASCII that is longer cannot be it: its `m` may be written `rn`. */
const ASCII_LENGTH_MAX = OWN_SOURCE.length + 1;

/** Whether it is the name, or is written so that people read the name. A longer text than a source may be is not. */
export function isOwnSource(source: string): boolean {
  if (source.length > SOURCE_BYTES_MAX) return false;
  if (source.length > ASCII_LENGTH_MAX && !/[^\x21-\x7e]/.test(source)) return false;
  const letters = [...toPlain(source)].map((letter) => LETTERS.get(letter) ?? letter);
  const shown = letters.join('').replaceAll('rn', 'm');
  return isNearly(shown) || (BACKWARDS.test(source) && isNearly([...shown].reverse().join('')));
}

const toPlain = (text: string): string =>
  toNormalForm(text.replaceAll(/[\u{1f150}-\u{1f1ff}]/gu, toBoxedLetter), 'NFKD')
    // The small letter of this Greek capital looks like a u.
    .replaceAll('\u039c', 'm')
    .toLowerCase()
    .replaceAll(UNSEEN, '');

function toBoxedLetter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const first = BOXED_A.find((start) => code >= start && code < start + 26);
  return first === undefined ? character : String.fromCharCode(97 + code - first);
}

/** Letters of other scripts stand for any letter, as long as enough of the others are the right ones. */
function isNearly(text: string): boolean {
  const letters = [...text];
  if (letters.length !== OWN_SOURCE.length) return false;
  const common = letters.filter((letter, index) => letter === OWN_SOURCE[index]).length;
  const foreign = letters.filter((letter) => letter > '\x7f').length;
  return common >= COMMON_LETTERS_MIN && common + foreign === letters.length;
}
