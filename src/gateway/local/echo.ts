// `local-echo` repeats its input, word by word: what it says, and its tokens, which are words with the blanks behind them, long words
// in pieces.

import { nextTimeSlice, SLICE_MS } from '../../core/time-slices.ts';
import { LOCAL_CHAT_MODEL } from '../catalogue/model.ts';
import type { ChatMessage } from '../chat-call.ts';
import { ECHO_STOP_LENGTH_MAX, ECHO_TOKENS_MAX } from '../limits.ts';
import type { TokenAnswer } from '../model-call.ts';
import { withQuotes } from './quotes.ts';

export type Said = {
  text: string;
  /** The generated tokens only: a prompt that is repeated at the beginning of the text is not counted. */
  tokens: number;
  finishReason: 'stop' | 'length' | 'tool_calls';
};

/** The answer to a conversation of another area: there is nothing to read, and nothing to write. */
export async function echoMessages(messages: readonly ChatMessage[]): Promise<TokenAnswer> {
  const texts = messages.map(({ content }) => content);
  const told = await toldBy(texts, messages);
  const { text, tokens, finishReason } = cutText(`Echo: ${told}`, { tokensMax: ECHO_TOKENS_MAX, stops: [] });
  return {
    kind: 'tokens',
    model: LOCAL_CHAT_MODEL,
    tokens: tokensOf(text),
    finishReason,
    usage: { promptTokens: await countTokens(texts), completionTokens: tokens, estimated: false },
  };
}

/** The last message of the user, and quotes of the documents that precede it. */
export async function toldBy(
  texts: readonly string[],
  messages: readonly { role?: unknown }[],
): Promise<string> {
  const last = messages.findLastIndex(({ role }) => role === 'user');
  const question = beginningOf(texts[last] ?? '');
  const before = texts[last - 1] ?? '';
  return before.startsWith('<documents-') ? withQuotes(question, before) : question;
}

/** More of a text than an answer can hold is not looked at. */
export const beginningOf = (text: string): string =>
  text.slice(0, unitsOf(ECHO_TOKENS_MAX) + ECHO_STOP_LENGTH_MAX);

/** The text up to its first stop sequence or its last allowed token, whichever comes first. */
export function cutText(
  text: string,
  { tokensMax, stops }: { tokensMax: number; stops: readonly string[] },
): Said {
  const found = stops.map((stop) => text.indexOf(stop)).filter((at) => at !== -1);
  const stopped = found.length === 0 ? text : text.slice(0, Math.min(...found));
  const first = firstTokens(stopped, tokensMax);
  return { ...first, finishReason: first.text.length < stopped.length ? 'length' : 'stop' };
}

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
const unitsOf = (tokens: number): number => tokens * (TOKEN_LENGTH_MAX + 1);

/** The first tokens of a text: as many as there may be. */
export function firstTokens(text: string, most: number): { text: string; tokens: number } {
  let tokens = 0;
  let at = 0;
  for (; tokens < most && at < text.length; tokens++) at = endOfToken(text, at);
  return { text: text.slice(0, at), tokens };
}
