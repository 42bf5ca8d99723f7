// A whole answer as a stream, and a stream as a whole answer: for answers that are kept.

import { parseJson } from '../core/json.ts';
import { parseEvents } from './events.ts';
import type { JsonObject } from './wire.ts';

type Choice = JsonObject & { index: number };

/** The events of a completion as if it came now, `[DONE]` included. */
export function toChunks(answer: JsonObject, includeUsage: boolean): string[] {
  const { choices, usage, ...base } = answer;
  const isChat = base['object'] === 'chat.completion';
  const object = isChat ? 'chat.completion.chunk' : (base['object'] ?? null);
  const nothing = includeUsage ? { usage: null } : {};
  const chunks: JsonObject[] = [];
  for (const choice of (choices ?? []) as Choice[]) {
    const { message, finish_reason: reason, text, ...rest } = choice;
    if (isChat) {
      chunks.push({
        ...base,
        object,
        choices: [{ ...rest, delta: toDelta(message as JsonObject), finish_reason: null }],
        ...nothing,
      });
      chunks.push({ ...base, object, choices: [{ ...rest, delta: {}, finish_reason: reason }], ...nothing });
    } else {
      chunks.push({ ...base, object, choices: [{ ...rest, text, finish_reason: reason }], ...nothing });
    }
  }
  if (includeUsage) chunks.push({ ...base, object, choices: [], usage });
  return [...chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n'];
}

/** Texts as a client reads them, one block each. */
export function toByteStream(texts: readonly string[]): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const text = texts[at++];
      if (text === undefined) controller.close();
      else controller.enqueue(Buffer.from(text));
    },
  });
}

/** Calls of tools bear their position in a stream. */
function toDelta(message: JsonObject): JsonObject {
  const { tool_calls: calls, ...rest } = message;
  if (!Array.isArray(calls)) return rest;
  return { ...rest, tool_calls: calls.map((call, index) => ({ index, ...(call as JsonObject) })) };
}

/**
 * The completion that a stream has told; undefined for one that did not come to its end, or that is not understood
 * throughout. `usage`: of the whole, where the stream did not show it.
 */
export function fromChunks(stream: string, usage: JsonObject | undefined): JsonObject | undefined {
  let base: JsonObject | undefined;
  let told: JsonObject | undefined = usage;
  let done = false;
  const choices = new Map<number, Choice>();
  for (const { data } of parseEvents(stream)) {
    if (data === '[DONE]') {
      done = true;
      continue;
    }
    const chunk = parseChunk(data);
    if (chunk === undefined || !Array.isArray(chunk['choices'])) return undefined;
    base ??= chunk;
    if (typeof chunk['usage'] === 'object' && chunk['usage'] !== null) told = chunk['usage'] as JsonObject;
    for (const choice of chunk['choices'] as Choice[])
      choices.set(choice.index, merge(choices.get(choice.index), choice));
  }
  if (!done || base === undefined) return undefined;
  const isChat = base['object'] === 'chat.completion.chunk';
  const { choices: _, usage: __, ...rest } = base;
  return {
    ...rest,
    object: isChat ? 'chat.completion' : (base['object'] ?? null),
    choices: [...choices.values()].sort((a, b) => a.index - b.index).map((choice) => toWhole(choice, isChat)),
    ...(told === undefined ? {} : { usage: told }),
  };
}

function parseChunk(data: string): JsonObject | undefined {
  try {
    return parseJson(data) as JsonObject;
  } catch {
    return undefined;
  }
}

function merge(known: Choice | undefined, next: Choice): Choice {
  if (known === undefined) return next;
  const merged: Choice = { ...known };
  for (const [name, value] of Object.entries(next)) {
    if (name === 'delta')
      merged['delta'] = mergeDelta(known['delta'] as JsonObject | undefined, value as JsonObject);
    else if (name === 'text') merged['text'] = `${known['text'] ?? ''}${value ?? ''}`;
    else if (value !== null && value !== undefined) merged[name] = value;
  }
  return merged;
}

/** Texts grow, calls of tools are put together by their position, everything else is what came last. */
function mergeDelta(known: JsonObject = {}, next: JsonObject = {}): JsonObject {
  const merged: JsonObject = { ...known };
  for (const [name, value] of Object.entries(next)) {
    const before = merged[name];
    if (name === 'tool_calls' && Array.isArray(value)) {
      const calls = [...((before as JsonObject[] | undefined) ?? [])];
      for (const call of value as (JsonObject & { index: number })[])
        calls[call.index] = mergeDelta(calls[call.index], call);
      merged[name] = calls;
    } else if (name === 'function' && typeof value === 'object' && value !== null) {
      merged[name] = mergeDelta(before as JsonObject | undefined, value as JsonObject);
    } else if (typeof before === 'string' && typeof value === 'string' && GROWING.has(name)) {
      merged[name] = before + value;
    } else if (value !== null && value !== undefined) merged[name] = value;
    else merged[name] ??= value;
  }
  return merged;
}

const GROWING: ReadonlySet<string> = new Set(['content', 'refusal', 'arguments', 'reasoning_content']);

function toWhole(choice: Choice, isChat: boolean): JsonObject {
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
