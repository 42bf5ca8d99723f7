// A whole answer as a stream, and a stream as a whole answer: for answers that are kept.

import { isObject, type Json, type JsonObject, parseJson } from '../core/json.ts';
import { nonsense } from './answer.ts';
import { DONE, parseEvents, toEvent } from './events.ts';
import { parseAnswer } from './request.ts';

/** A whole answer as a stream. Throws 502 for one that is not JSON: of large answers only the ends have been looked at. */
export async function toStream(answer: Uint8Array, includeUsage: boolean) {
  try {
    return streamOf(toChunks(await parseAnswer(answer), includeUsage));
  } catch (error) {
    throw nonsense(error).refusal;
  }
}

/** The texts as a stream, and a promise of its end. */
export const streamOf = (texts: string[]) => ({
  body: new Blob(texts).stream() as ReadableStream<Uint8Array>,
  over: Promise.resolve(),
});

/** The events of a completion as if it was streamed, including `[DONE]`. Invalid choices are omitted. */
export function toChunks(answer: JsonObject, includeUsage: boolean): string[] {
  const { choices, usage, ...base } = answer;
  const isChat = base['object'] === 'chat.completion';
  const object = isChat ? 'chat.completion.chunk' : (base['object'] ?? null);
  const nothing = includeUsage ? { usage: null } : {};
  const chunks: JsonObject[] = [];
  for (const choice of Array.isArray(choices) ? choices.filter(isObject) : []) {
    const { message, finish_reason: reason, text, ...rest } = choice;
    if (isChat) {
      const delta = isObject(message) ? toDelta(message) : {};
      chunks.push({ ...base, object, choices: [{ ...rest, delta, finish_reason: null }], ...nothing });
      // Told of tokens, they are told once.
      const last = 'logprobs' in rest ? { ...rest, logprobs: null } : rest;
      chunks.push({ ...base, object, choices: [{ ...last, delta: {}, finish_reason: reason }], ...nothing });
    } else {
      chunks.push({ ...base, object, choices: [{ ...rest, text, finish_reason: reason }], ...nothing });
    }
  }
  if (includeUsage) chunks.push({ ...base, object, choices: [], usage });
  return [...chunks.map(toEvent), DONE];
}

/** Calls of tools bear their position in a stream. */
function toDelta(message: JsonObject): JsonObject {
  const { tool_calls: calls, ...rest } = message;
  if (!Array.isArray(calls)) return rest;
  return { ...rest, tool_calls: calls.map((call, index) => ({ index, ...(call as JsonObject) })) };
}

class NotUnderstood extends Error {}

/**
 * The completion in a stream; undefined if the stream is incomplete or not fully understood. `usage`: that of the
 * whole, if the stream did not contain it.
 */
export function fromChunks(stream: string, usage: JsonObject | undefined): JsonObject | undefined {
  try {
    return putTogether(stream, usage);
  } catch (error) {
    if (error instanceof NotUnderstood) return undefined;
    throw error;
  }
}

function putTogether(stream: string, usage: JsonObject | undefined): JsonObject | undefined {
  let base: JsonObject | undefined;
  let told: JsonObject | undefined = usage;
  let done = false;
  const choices = new Map<number, JsonObject>();
  for (const { data } of parseEvents(stream)) {
    if (data === '[DONE]') {
      done = true;
      continue;
    }
    const chunk = parseChunk(data);
    base ??= chunk;
    if (isObject(chunk['usage'])) told = chunk['usage'];
    for (const choice of chunk.choices) choices.set(choice.index, merge(choices.get(choice.index), choice));
  }
  if (!done || base === undefined) return undefined;
  const isChat = base['object'] === 'chat.completion.chunk';
  const { choices: _, usage: __, ...rest } = base;
  const inOrder = [...choices].sort(([a], [b]) => a - b).map(([, choice]) => choice);
  if (!inOrder.every((choice) => typeof choice['finish_reason'] === 'string')) return undefined;
  return {
    ...rest,
    object: isChat ? 'chat.completion' : (base['object'] ?? null),
    choices: inOrder.map((choice) => toWhole(choice, isChat)),
    ...(told === undefined ? {} : { usage: told }),
  };
}

type Choice = JsonObject & { index: number };

const isPosition = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

function parseChunk(data: string): JsonObject & { choices: Choice[] } {
  let chunk: unknown;
  try {
    chunk = parseJson(data);
  } catch {
    throw new NotUnderstood();
  }
  if (!isObject(chunk) || !Array.isArray(chunk['choices'])) throw new NotUnderstood();
  const fits = chunk['choices'].every((choice) => isObject(choice) && isPosition(choice['index']));
  if (!fits) throw new NotUnderstood();
  return chunk as JsonObject & { choices: Choice[] };
}

function merge(known: JsonObject = {}, next: Choice): JsonObject {
  const merged: JsonObject = { ...known };
  for (const [name, value] of Object.entries(next)) {
    const before = merged[name];
    if (name === 'delta') merged[name] = mergeDelta(before, value);
    else if (name === 'logprobs') merged[name] = mergeLists(before, value);
    else if (name === 'text') merged[name] = `${before ?? ''}${value ?? ''}`;
    else if (value !== null && value !== undefined) merged[name] = value;
    else merged[name] ??= value;
  }
  return merged;
}

/** Log probabilities of a chunk are those of the tokens of this chunk only. */
function mergeLists(known: Json | undefined, next: Json | undefined): Json {
  if (!isObject(next)) return known ?? null;
  const merged: JsonObject = isObject(known) ? { ...known } : {};
  for (const [name, value] of Object.entries(next)) {
    const before = merged[name];
    if (Array.isArray(before) && Array.isArray(value)) merged[name] = [...before, ...value];
    else merged[name] = value ?? before;
  }
  return merged;
}

/** Texts are concatenated, tool calls merged by their position; other members may only repeat the same value. */
function mergeDelta(known: Json | undefined, next: Json | undefined): JsonObject {
  if (next !== null && next !== undefined && !isObject(next)) throw new NotUnderstood();
  const merged: JsonObject = isObject(known) ? { ...known } : {};
  for (const [name, value] of Object.entries(next ?? {})) {
    const before = merged[name];
    if (value === null || value === undefined) merged[name] ??= value;
    else if (name === 'tool_calls') merged[name] = mergeCalls(before, value);
    else if (name === 'function' || name === 'function_call') merged[name] = mergeDelta(before, value);
    else if (typeof before === 'string' && typeof value === 'string' && GROWING.has(name)) {
      merged[name] = before + value;
    } else if (before === undefined || before === null || REPLACED.has(name)) merged[name] = value;
    else if (JSON.stringify(before) !== JSON.stringify(value)) throw new NotUnderstood();
  }
  return merged;
}

/** A call has a position and an id; parts without an id belong to the last call at their position. */
function mergeCalls(known: Json | undefined, next: Json): Json[] {
  if (!Array.isArray(next)) throw new NotUnderstood();
  const calls = (Array.isArray(known) ? [...known] : []) as JsonObject[];
  for (const call of next) {
    if (!isObject(call)) throw new NotUnderstood();
    const { index, id, ...rest } = call;
    // They begin one after the other.
    if (!isPosition(index) || index > calls.length) throw new NotUnderstood();
    const at = calls.findLastIndex((each) => each['index'] === index);
    const begun = calls[at];
    const isNamed = typeof id === 'string' && id !== '';
    if (begun === undefined || (isNamed && (begun['id'] ?? id) !== id))
      calls.push(mergeDelta(undefined, call));
    else calls[at] = mergeDelta(begun, isNamed ? call : { index, ...rest });
  }
  return calls;
}

const GROWING: ReadonlySet<string> = new Set(
  'content refusal arguments reasoning_content reasoning'.split(' '),
);
const REPLACED: ReadonlySet<string> = new Set(['role', 'id', 'type', 'name']);

function toWhole(choice: JsonObject, isChat: boolean): JsonObject {
  if (!isChat) return choice;
  const { delta, ...rest } = choice;
  const { tool_calls: calls, ...message } = (delta ?? {}) as JsonObject;
  if (!Array.isArray(calls)) return { ...rest, message };
  const whole = calls.map((call) => {
    const { index: _, ...said } = call as JsonObject;
    return said;
  });
  return { ...rest, message: { ...message, tool_calls: whole } };
}
