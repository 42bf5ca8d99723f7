// A whole answer as a stream, for a client that asked for one.

import { isObject, type JsonObject } from '../core/json.ts';
import { nonsense } from './answer.ts';
import { DONE, toEvent } from './events.ts';
import type { Ended } from './model-call.ts';
import { parseAnswer } from './request.ts';

/** The bytes as a stream that has ended. */
export const streamOf = (bytes: Uint8Array, ended: Ended) => ({
  body: new Blob([bytes as Uint8Array<ArrayBuffer>]).stream() as ReadableStream<Uint8Array>,
  over: Promise.resolve(ended),
});

/**
 * The events of a completion as if it was streamed, including `[DONE]`. Invalid choices are omitted. Throws 502 for an answer that is
 * not JSON: of large answers only the ends have been looked at.
 */
export async function toChunks(bytes: Uint8Array, includeUsage: boolean): Promise<Uint8Array> {
  const answer = await parseAnswer(bytes).catch((error: unknown) => {
    throw nonsense(error).refusal;
  });
  const { choices, usage, ...base } = answer;
  const isChat = base['object'] === 'chat.completion';
  const object = isChat ? 'chat.completion.chunk' : (base['object'] ?? null);
  const toChunk = (choice: JsonObject): string =>
    toEvent({ ...base, object, choices: [choice], ...(includeUsage && { usage: null }) });
  let text = '';
  for (const choice of Array.isArray(choices) ? choices.filter(isObject) : []) {
    const { message, finish_reason: reason, text: said, ...rest } = choice;
    if (!isChat) text += toChunk({ ...rest, text: said, finish_reason: reason });
    else {
      const delta = isObject(message) ? toDelta(message) : {};
      text += toChunk({ ...rest, delta, finish_reason: null });
      // Probabilities of tokens are told once.
      const last = 'logprobs' in rest ? { ...rest, logprobs: null } : rest;
      text += toChunk({ ...last, delta: {}, finish_reason: reason });
    }
  }
  if (includeUsage) text += toEvent({ ...base, object, choices: [], usage });
  return Buffer.from(text + DONE);
}

/** Calls of tools bear their position in a stream. */
function toDelta(message: JsonObject): JsonObject {
  const { tool_calls: calls, ...rest } = message;
  if (!Array.isArray(calls)) return rest;
  return { ...rest, tool_calls: calls.map((call, index) => ({ index, ...(call as JsonObject) })) };
}
