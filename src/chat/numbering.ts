// The numbers by which a model cites the passages that it was shown, in a text that is sent while it arrives. Passages are
// numbered anew in the order in which the answer first names them, so that a reader sees 1, 2, 3.

/** `[1]`, `[1, 3]`, `[^1]`, `【1】` and `【1†source】`, as models write them; runs of backticks, and ends of lines. */
const TOKEN = /`+|\n|\[\^?\d{1,4}(?:[,;，、] ?\d{1,4}){0,7}\]|【\d{1,4}(?:†[^】\n]{0,24})?】/g;
/** The beginning of one at the end of a text, and the longest that is waited for. */
const BEGINNING = /(?:`+|\[\^?(?:\d[\d,;，、 ]{0,47})?|【(?:\d{1,4}(?:†[^】\n]{0,24})?)?)$/;
const BEGINNING_LENGTH_MAX = 64;
const FENCE_LENGTH = 3;

/**
 * Numbers for so many passages. A number that no passage has is left as it is, and so is what stands in code. Where the
 * model was asked to write `[0]` behind an answer that rests on none (`asksNone`), this is left out.
 */
export function createNumbering(passages: number, { asksNone = false } = {}) {
  const used: number[] = [];
  let restsOnNone = false;
  /** The backticks that opened a span or a block of code. */
  let code: string | undefined;
  let kept = '';

  const renumber = (marker: string): string => {
    const numbers = (marker.replace(/†.*/s, '').match(/\d+/g) ?? []).map(Number);
    if (asksNone && numbers.every((number) => number === 0)) {
      restsOnNone = true;
      return '';
    }
    if (numbers.some((number) => number < 1 || number > passages)) return marker;
    return [...new Set(numbers)]
      .map((number) => {
        if (!used.includes(number - 1)) used.push(number - 1);
        return `[${used.indexOf(number - 1) + 1}]`;
      })
      .join('');
  };
  const replace = (token: string): string => {
    if (token === '\n') {
      if (code !== undefined && code.length < FENCE_LENGTH) code = undefined;
      return token;
    }
    if (token.startsWith('`')) {
      if (code === undefined) code = token;
      else if (code === token) code = undefined;
      return token;
    }
    return code === undefined ? renumber(token) : token;
  };
  return {
    /** The indexes of the passages that are cited, in the order of their new numbers. */
    used: used as readonly number[],
    /** Whether the model wrote `[0]`: that its answer rests on no passage. */
    restsOnNone: () => restsOnNone,
    /** The text that can be sent now: a number of which only the beginning has arrived is kept until its end. */
    push(delta: string): string {
      const text = kept + delta;
      kept = BEGINNING.exec(text.slice(-BEGINNING_LENGTH_MAX))?.[0] ?? '';
      if (kept.length === BEGINNING_LENGTH_MAX) kept = '';
      return text.slice(0, text.length - kept.length).replace(TOKEN, replace);
    },
    /** The text that was kept. */
    end(): string {
      const text = kept.replace(TOKEN, replace);
      kept = '';
      return text;
    },
  };
}
