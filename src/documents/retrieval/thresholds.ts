// Which passages can reach a sum: those that have enough of the common words of a question. The index finds them by a condition
// over several lists of passages, and reads the long lists only where the short ones have a passage.

import { COMBINED_MAX } from './limits.ts';

/** A word whose frequency is known. */
export type CommonWord = {
  lexemes: readonly string[];
  /** Of the passages, how many have it. */
  share: number;
  /** The most that it can add to the sum of a passage. */
  weight: number;
};

/** Sums of floating-point numbers in another order differ a little. */
const ROUNDING = 1e-9;

/** Of many words the ones with the greatest weights are combined; what the others can add, `rest`, is reckoned with. */
export function createThresholds(words: readonly CommonWord[]) {
  const sorted = words.toSorted((left, right) => right.weight - left.weight);
  const combined = sorted.slice(0, COMBINED_MAX);
  const rest = sumOf(sorted.slice(COMBINED_MAX));
  return {
    /** A passage that does not match at a level has a sum below `level + rest`. */
    rest,
    /** The least level that about so many of the passages reach, and no more; 0 where so few have any of the words. */
    levelOf(passages: number, most: number): number {
      let expected = 0;
      let level = sumOf(combined);
      for (const [sum, share] of combinationsOf(combined)) {
        expected += share * passages;
        if (expected > most) return level;
        level = sum;
      }
      return 0;
    },
    /** The tsquery of passages whose words have weights that come to `level`, at least one of the words; '' where none can. */
    matching(level: number): string {
      const query = toQuery(combined, Math.max(ROUNDING, level - ROUNDING));
      return typeof query === 'string' ? query : '';
    },
  };
}

const sumOf = (words: readonly CommonWord[]): number => words.reduce((sum, { weight }) => sum + weight, 0);

/** The sum of each choice of words, the greatest first, and the share of passages that have them, if words are independent. */
function combinationsOf(words: readonly CommonWord[]): [sum: number, share: number][] {
  let choices: [sum: number, share: number][] = [[0, 1]];
  for (const { weight, share } of words)
    choices = choices.flatMap(([sum, rest]): typeof choices => [
      [sum + weight, rest * share],
      [sum, rest * (1 - share)],
    ]);
  return choices.filter(([sum]) => sum > 0).sort(([left], [right]) => right - left);
}

/** True where nothing more is needed; false where the words cannot come to it. */
function toQuery(words: readonly CommonWord[], needed: number): string | boolean {
  if (needed <= 0) return true;
  const [word, ...others] = words;
  if (word === undefined || sumOf(words) < needed) return false;
  const own = anyOf([word]);
  const having = toQuery(others, needed - word.weight);
  const without = toQuery(others, needed);
  const first = having === true ? own : `(${own} & ${having})`;
  if (having === false) return without;
  return without === false ? first : `(${first} | ${without})`;
}

/** The tsquery of passages that have one of the words. */
export const anyOf = (words: readonly { lexemes: readonly string[] }[]): string => {
  const lexemes = words.flatMap((word) => word.lexemes.map((lexeme) => `'${lexeme}'`));
  return lexemes.length > 1 ? `(${lexemes.join(' | ')})` : lexemes.join('');
};
