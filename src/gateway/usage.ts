// Tokens as the upstream reports them, else estimated; and their cost.

import { isObject, type Json, type JsonObject } from '../core/json.ts';
import { CHECKED_BYTES_MAX, HEAD_BYTES, TAIL_BYTES } from './limits.ts';
import type { GatewayRequest } from './request.ts';

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
/** Shorter strings cannot be distinguished from words. */
const BASE64_LENGTH_MIN = 256;
const BASE64 = /^[A-Za-z0-9+/_=-]*$/;
/** Members whose `data:` URLs are pictures and files. */
const URL_NAMES: ReadonlySet<string> = new Set(['url', 'image_url', 'file_data']);

/** Estimated tokens of a request: its text by its length, pictures and sounds by their number. */
export function estimatePrompt({ body, sizeBytes }: GatewayRequest): number {
  let [text, media] = [sizeBytes, 0];
  const look = (value: Json | undefined, name: string): void => {
    if (typeof value === 'string') {
      if (!isMedia(value, name)) return;
      text -= value.length;
      media += 1;
    } else if (Array.isArray(value)) for (const each of value) look(each, name);
    else if (isObject(value)) for (const each in value) look(value[each], each);
  };
  look(body, '');
  return estimateTokens(text) + media * MEDIUM_TOKENS;
}

/** Whether the string is base64, or in some members a `data:` URL of base64. */
function isMedia(value: string, name: string): boolean {
  if (value.length < BASE64_LENGTH_MIN) return false;
  if (name === 'data') return BASE64.test(value);
  if (!URL_NAMES.has(name)) return false;
  const head = /^data:[^,\s]*;base64,/i.exec(value.slice(0, BASE64_LENGTH_MIN))?.[0];
  return head !== undefined && BASE64.test(value.slice(head.length));
}

/** Strings in `choices` that a server writes, not its model. */
const LABELS: ReadonlySet<string> = new Set(
  'role id type object format finish_reason native_finish_reason stop_reason signature'.split(' '),
);
/** Members that repeat a text which stands elsewhere. */
const REPETITIONS: ReadonlySet<string> = new Set(['logprobs', 'reasoning_details']);

/** UTF-8 bytes of all texts that a model wrote in the `choices` of an answer: answers, refusals, thoughts and arguments of tools. */
function countTextBytes(value: unknown, name = ''): number {
  if (typeof value === 'string') {
    if (LABELS.has(name)) return 0;
    const isPicture = value.length > BASE64_LENGTH_MIN && value.startsWith('data:');
    return isPicture ? MEDIUM_TOKENS * BYTES_OF_A_TOKEN : Buffer.byteLength(value);
  }
  if (typeof value !== 'object' || value === null || REPETITIONS.has(name)) return 0;
  let count = 0;
  if (Array.isArray(value)) for (const each of value) count += countTextBytes(each, name);
  else for (const each in value) count += countTextBytes((value as JsonObject)[each], each);
  return count;
}

/** Estimated tokens of a whole answer that tells no usage. */
export function estimateCompletion(answer: Uint8Array): number {
  try {
    const { choices } = JSON.parse(utf8.decode(answer)) as JsonObject;
    return estimateTokens(countTextBytes(choices));
  } catch {
    return estimateTokens(answer.length);
  }
}

const utf8 = new TextDecoder();
const latin1 = new TextDecoder('latin1');

/** An object with objects of numbers in it. */
const USAGE = /"usage"\s*:\s*(\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})/;

/**
 * The usage in a whole answer, and the answer itself, whose numbers may have lost digits. Throws where it is no JSON object.
 * A large answer is not parsed where both ends, at which servers write lists, errors and usage, show an ordinary one.
 */
export function checkAnswer(answer: Uint8Array): { usage: Usage | undefined; value?: JsonObject } {
  if (answer.length > CHECKED_BYTES_MAX) {
    const head = latin1.decode(answer.subarray(0, HEAD_BYTES)).trimStart();
    const tail = latin1.decode(answer.subarray(-TAIL_BYTES)).trimEnd();
    const isWhole = head.startsWith('{') && tail.endsWith('}') && !`${head}${tail}`.includes('"error"');
    const usage = fromUsage(tryParse(USAGE.exec(tail)?.[1] ?? ''));
    if (isWhole && usage !== undefined && /"(?:choices|data)"\s*:\s*\[/.test(head)) return { usage };
  }
  const value: unknown = JSON.parse(utf8.decode(answer));
  if (!isObject(value)) throw new Error('the answer is no JSON object');
  return { usage: fromUsage(value['usage']), value };
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
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

/** The use of a stream: as the upstream tells it, and what has come since. So a stream that is broken off costs what it brought. */
export class StreamMeter {
  private told: Usage | undefined;
  /** Since the upstream told its use. */
  private events = 0;
  private textBytes = 0;

  /** An event of OpenAI's protocol. What follows the usage without a text is the end. */
  addChunk(chunk: JsonObject | undefined): void {
    const { choices, usage, x_groq: groq } = chunk ?? NO_CHUNK;
    const textBytes = countTextBytes(choices);
    if (this.told === undefined || textBytes > 0) this.add(textBytes);
    const told = fromUsage(usage) ?? (isObject(groq) ? fromUsage(groq['usage']) : undefined);
    if (told !== undefined) this.tell(told);
  }

  add(textBytes: number): void {
    this.textBytes += textBytes;
    this.events += 1;
  }

  tell(usage: Usage): void {
    this.told = usage;
    this.events = 0;
    this.textBytes = 0;
  }

  /** The larger of events and bytes of text / 4. */
  get tokens(): number {
    return Math.max(this.events, estimateTokens(this.textBytes));
  }

  /** Undefined where the upstream has told nothing yet. */
  get usage(): Usage | undefined {
    const { told, tokens } = this;
    if (told === undefined || tokens === 0) return told;
    return { ...told, completionTokens: told.completionTokens + tokens, estimated: true };
  }
}

const NO_CHUNK: JsonObject = {};
