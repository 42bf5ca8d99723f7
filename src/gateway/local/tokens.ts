// Tokens as `local-echo` counts them: a word with the blanks behind it, long words in pieces.

/** UTF-16 units of the longest token. */
const TOKEN_LENGTH_MAX = 16;

const isBlank = (code: number): boolean => code <= 0x20 || code === 0xa0 || code === 0x3000;

const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff;

/** The offset behind the token that begins at `start`. */
function endOfToken(text: string, start: number): number {
  const most = Math.min(text.length, start + TOKEN_LENGTH_MAX);
  let blank = false;
  let at = start;
  for (; at < most; at++) {
    const next = isBlank(text.charCodeAt(at));
    if (blank && !next) return at;
    blank = next;
  }
  // Half of a character is none.
  return at < text.length && isLowSurrogate(text.charCodeAt(at)) ? at + 1 : at;
}

/** Its tokens one after the other; together they are the text. */
export function* tokensOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const end = endOfToken(text, at);
    yield text.slice(at, end);
    at = end;
  }
}

export function countTokens(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; count++) at = endOfToken(text, at);
  return count;
}

/** So many of a text's first units hold as many tokens as are wanted, where the text has them. */
export const unitsOf = (tokens: number): number => tokens * (TOKEN_LENGTH_MAX + 1);

/** The first tokens of a text: as many as there may be. */
export function firstTokens(text: string, most: number): { text: string; tokens: number } {
  let tokens = 0;
  let at = 0;
  for (; tokens < most && at < text.length; tokens++) at = endOfToken(text, at);
  return { text: text.slice(0, at), tokens };
}
