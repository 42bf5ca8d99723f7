// Tokens as the upstream reports them, else estimated; and their cost.

import { isObject, type JsonObject, parseJson } from '../core/json.ts';
import type { Price } from './catalogue/model.ts';
import { parseEvents, splitEvents } from './events.ts';
import { CHECKED_BYTES_MAX, TAIL_BYTES } from './limits.ts';

export type Usage = { promptTokens: number; completionTokens: number; estimated: boolean };

export const NO_USAGE: Usage = { promptTokens: 0, completionTokens: 0, estimated: false };

/** In the units of the price table. */
export const toCost = (price: Price, { promptTokens, completionTokens }: Usage): number =>
  (promptTokens * price.inputPerMillion + completionTokens * price.outputPerMillion) / 1e6;

/** About four bytes of text are a token, in the languages and models that most use. */
const BYTES_OF_A_TOKEN = 4;

export const estimateTokens = (bytes: number): number => Math.ceil(bytes / BYTES_OF_A_TOKEN);

/** The estimate for a picture or a sound in a request: about the providers' count for one of medium size. */
export const MEDIUM_TOKENS = 1000;
/** Beyond this number, possible pictures count as text: checking each would cost more than the request. */
const MEDIA_MAX = 1000;
const MEDIA = ['"data:', '"data":"'].map((text) => Buffer.from(text));

/** Estimated tokens of a request: its text by its length, pictures and sounds by their number. */
export function estimatePrompt(request: Uint8Array): number {
  let text = request.length;
  let media = 0;
  for (const begin of MEDIA) {
    let at = indexOf(request, begin, 0);
    for (let looks = 0; at !== -1 && looks < MEDIA_MAX; looks++) {
      const start = at + begin.length;
      const end = request.indexOf(QUOTE, start);
      const until = end === -1 ? request.length : end;
      if (isBase64(request.subarray(start, until))) {
        text -= until - start;
        media += 1;
      }
      at = indexOf(request, begin, until);
    }
  }
  return estimateTokens(text) + media * MEDIUM_TOKENS;
}

const QUOTE = 0x22;
/** Shorter ones cannot be distinguished from words. */
const BASE64_BYTES_MIN = 256;

/** Whether the end of a long string looks like base64. */
const isBase64 = (text: Uint8Array): boolean =>
  text.length >= BASE64_BYTES_MIN && /^[A-Za-z0-9+/_=-]+$/.test(latin1.decode(text.subarray(-128)));

const indexOf = (bytes: Uint8Array, needle: Uint8Array, from: number): number =>
  Buffer.prototype.indexOf.call(bytes, needle, from);

const utf8 = new TextDecoder();
const latin1 = new TextDecoder('latin1');

/**
 * Whether an answer is a JSON object, and the usage in it. Small answers are parsed completely; of larger ones only
 * both ends, where servers write the usage, are read.
 */
export function checkAnswer(answer: Uint8Array): {
  valid: boolean;
  usage: Usage | undefined;
  /** Of a small one; digits may be lost. */
  value?: JsonObject;
} {
  if (answer.length <= CHECKED_BYTES_MAX) {
    try {
      const value: unknown = JSON.parse(utf8.decode(answer));
      return isObject(value)
        ? { valid: true, usage: fromUsage(value['usage']), value }
        : { valid: false, usage: undefined };
    } catch {
      return { valid: false, usage: undefined };
    }
  }
  const tail = latin1.decode(answer.subarray(-TAIL_BYTES));
  const valid = latin1.decode(answer.subarray(0, 64)).trimStart()[0] === '{' && tail.trimEnd().endsWith('}');
  const found = tail.lastIndexOf('"usage"');
  const start = found === -1 ? -1 : tail.indexOf('{', found);
  return { valid, usage: start === -1 ? undefined : toUsage(firstObject(tail.slice(start))) };
}

function firstObject(text: string): string {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '{') depth += 1;
    else if (text[at] === '}' && --depth === 0) return text.slice(0, at + 1);
  }
  return '';
}

function toUsage(text: string): Usage | undefined {
  try {
    return fromUsage(parseJson(text));
  } catch {
    return undefined;
  }
}

/** OpenAI's usage object. Some servers name the sides input and output. */
export function fromUsage(value: unknown): Usage | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const told = value as Record<string, unknown>;
  const prompt = told['prompt_tokens'] ?? told['input_tokens'];
  const completion = told['completion_tokens'] ?? told['output_tokens'] ?? 0;
  if (!isCount(prompt) || !isCount(completion)) return undefined;
  return { promptTokens: prompt, completionTokens: completion, estimated: false };
}

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

/** The usage in a block of a stream, and the block without it if the client did not request it. */
export function readUsageBlock(
  block: Uint8Array,
  hides: boolean,
): { usage: Usage | undefined; shown: Uint8Array } {
  let usage: Usage | undefined;
  let shown = '';
  const text = Buffer.from(block).toString();
  for (const raw of splitEvents(text)) {
    const found = usageOfEvent(raw);
    usage = found?.usage ?? usage;
    if (!(hides && found?.alone === true)) shown += raw;
  }
  return { usage, shown: hides && shown.length !== text.length ? Buffer.from(shown) : block };
}

/** `alone`: the event holds nothing else (`choices: []`). */
function usageOfEvent(raw: string): { usage: Usage | undefined; alone: boolean } | undefined {
  const data = parseEvents(raw)[0]?.data;
  if (data === undefined || !data.includes('"prompt_tokens"')) return undefined;
  try {
    const { usage, choices } = parseJson(data) as { usage?: unknown; choices?: unknown };
    return { usage: fromUsage(usage), alone: Array.isArray(choices) && choices.length === 0 };
  } catch {
    return undefined;
  }
}
