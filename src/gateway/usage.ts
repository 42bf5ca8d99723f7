// Tokens as the upstream reports them, else estimated; and their cost.

import { isObject, type JsonObject, parseJson } from '../core/json.ts';
import { parseEvents, splitEvents } from './events.ts';
import { CHECKED_BYTES_MAX, TAIL_BYTES } from './limits.ts';
import { NO_LIMITS, scanObject } from './scan.ts';

export type Usage = {
  promptTokens: number;
  completionTokens: number;
  /** Of the prompt's: read from the upstream's cache, and written to it. Absent: none. */
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  estimated: boolean;
};

export const NO_USAGE: Usage = { promptTokens: 0, completionTokens: 0, estimated: false };

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
      if (begin === MEDIA[0] ? isPicture(request, at, until) : isBase64(request.subarray(start, until))) {
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

/** Whether a string is a `data:` URL of base64 to its end, and the value of a member that pictures and files have. */
function isPicture(request: Uint8Array, start: number, end: number): boolean {
  const name = latin1.decode(request.subarray(Math.max(0, start - 32), start));
  if (end - start < BASE64_BYTES_MIN || !/"(?:url|image_url|file_data)"\s*:\s*$/.test(name)) return false;
  const head = latin1.decode(request.subarray(start + 1, start + 256));
  const found = /^data:[^,"\\\s]*;base64,/i.exec(head)?.[0];
  return found !== undefined && isBase64(request.subarray(start + 1 + found.length, end), 0);
}

const isBase64 = (text: Uint8Array, bytesMin = BASE64_BYTES_MIN): boolean =>
  text.length >= bytesMin && /^[A-Za-z0-9+/_=-]*$/.test(latin1.decode(text));

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
  const usage = start === -1 ? undefined : toUsage(firstObject(tail.slice(start)));
  return { valid, usage: usage ?? (valid ? findUsage(answer) : undefined) };
}

/** The usage of a large answer that does not end with it. Lists of many numbers (vectors) are not searched. */
function findUsage(answer: Uint8Array): Usage | undefined {
  const members = scanObject(answer, { ...NO_LIMITS, valuesMax: SCANNED_VALUES_MAX });
  if (typeof members === 'string') return undefined;
  const index = members.names.lastIndexOf('usage');
  return index === -1
    ? undefined
    : toUsage(utf8.decode(answer.subarray(members.starts[index], members.ends[index])));
}

const SCANNED_VALUES_MAX = 65_536;

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
  if (!isObject(value)) return undefined;
  const completion = value['completion_tokens'] ?? value['output_tokens'] ?? 0;
  const prompt = value['prompt_tokens'] ?? value['input_tokens'] ?? value['total_tokens'];
  if (!isCount(prompt) || !isCount(completion)) return undefined;
  const within = (count: unknown): number => (isCount(count) ? Math.min(count, prompt) : 0);
  const details = value['prompt_tokens_details'] ?? value['input_tokens_details'];
  const told = isObject(details) ? details : {};
  const cacheReadTokens = within(
    told['cached_tokens'] ?? value['cache_read_input_tokens'] ?? value['prompt_cache_hit_tokens'],
  );
  const cacheWriteTokens = within(told['cache_write_tokens'] ?? value['cache_creation_input_tokens']);
  return {
    promptTokens: prompt,
    completionTokens: completion,
    ...(cacheReadTokens > 0 && { cacheReadTokens }),
    ...(cacheWriteTokens > 0 && { cacheWriteTokens }),
    estimated: false,
  };
}

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

/** Tells the meter of the events of a block, and of the usage in them; returns the block without usage that the client did not request. */
export function readUsageBlock(
  block: Uint8Array,
  meter: { addBlock(event: Uint8Array): void; tell(usage: Usage): void },
  hides: boolean,
): Uint8Array {
  let shown = '';
  const text = Buffer.from(block).toString();
  for (const raw of splitEvents(text)) {
    meter.addBlock(Buffer.from(raw));
    const found = usageOfEvent(raw);
    if (found?.usage !== undefined) meter.tell(found.usage);
    if (!(hides && found?.alone === true)) shown += raw;
  }
  return hides && shown.length !== text.length ? Buffer.from(shown) : block;
}

/** `alone`: the event holds nothing else (`choices: []`). */
function usageOfEvent(raw: string): { usage: Usage | undefined; alone: boolean } | undefined {
  const data = parseEvents(raw)[0]?.data;
  if (data === undefined || !data.includes('_tokens"')) return undefined;
  // The last event of a streamed picture holds the picture.
  if (data.length > CHECKED_BYTES_MAX) return { usage: checkAnswer(Buffer.from(data)).usage, alone: false };
  try {
    const event = parseJson(data);
    if (!isObject(event)) return undefined;
    const { usage, choices, x_groq: groq } = event;
    const told = fromUsage(usage) ?? (isObject(groq) ? fromUsage(groq['usage']) : undefined);
    return { usage: told, alone: Array.isArray(choices) && choices.length === 0 };
  } catch {
    return undefined;
  }
}
