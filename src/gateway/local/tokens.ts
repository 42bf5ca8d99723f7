// Tokens as `local-echo` counts them: a word with the blanks behind it, long words in pieces.

import { nextTimeSlice, SLICE_MS } from '../../core/time-slices.ts';

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

/** Tokens between two looks at the clock. */
const LOOK_EVERY = 4096;

/** Of all texts together; long ones are counted in time slices. */
export async function countTokens(texts: readonly string[]): Promise<number> {
  let count = 0;
  let sliceEndsAt = performance.now() + SLICE_MS;
  for (const text of texts) {
    for (let at = 0; at < text.length; count++) {
      at = endOfToken(text, at);
      if (count % LOOK_EVERY === 0 && performance.now() > sliceEndsAt) sliceEndsAt = await nextTimeSlice();
    }
  }
  return count;
}

/** A text's first units of this number hold at least so many tokens, if the whole text does. */
export const unitsOf = (tokens: number): number => tokens * (TOKEN_LENGTH_MAX + 1);

/** The first tokens of a text: as many as there may be. */
export function firstTokens(text: string, most: number): { text: string; tokens: number } {
  let tokens = 0;
  let at = 0;
  for (; tokens < most && at < text.length; tokens++) at = endOfToken(text, at);
  return { text: text.slice(0, at), tokens };
}
