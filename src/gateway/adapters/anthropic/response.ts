// Anthropic's whole answer as a chat completion.

import { isObject, type Json, type JsonObject } from '../../../core/json.ts';
import type { Usage } from '../../usage.ts';

const FINISH_REASONS: Record<string, string> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};

/** A reason that came to be later than this table is an end like any other. */
export const toFinishReason = (reason: unknown): string =>
  typeof reason === 'string' && Object.hasOwn(FINISH_REASONS, reason)
    ? (FINISH_REASONS[reason] ?? 'stop')
    : 'stop';

const count = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** Anthropic counts cached tokens apart; OpenAI counts them among the prompt's. */
export function toUsage(usage: JsonObject): JsonObject {
  const cached = count(usage['cache_read_input_tokens']);
  const prompt = count(usage['input_tokens']) + count(usage['cache_creation_input_tokens']) + cached;
  const completion = count(usage['output_tokens']);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
  };
}

/** The use for accounts; undefined where none is told, as at the start of some streams. */
export function toAccountedUsage(usage: JsonObject): Usage | undefined {
  const { prompt_tokens: promptTokens, completion_tokens: completionTokens } = toUsage(usage);
  const cacheReadTokens = count(usage['cache_read_input_tokens']);
  const cacheWriteTokens = count(usage['cache_creation_input_tokens']);
  if (!Number.isSafeInteger(promptTokens) || !Number.isSafeInteger(completionTokens) || promptTokens === 0)
    return undefined;
  return {
    promptTokens: Number(promptTokens),
    completionTokens: Number(completionTokens),
    ...(cacheReadTokens > 0 && { cacheReadTokens }),
    ...(cacheWriteTokens > 0 && { cacheWriteTokens }),
    estimated: false,
  };
}

/** Of a whole message. */
export const readUsage = (answer: unknown): Usage | undefined =>
  isObject(answer) && isObject(answer['usage']) ? toAccountedUsage(answer['usage']) : undefined;

const textOf = (block: JsonObject): string => (typeof block['text'] === 'string' ? block['text'] : '');

function toToolCall(block: JsonObject): JsonObject {
  const called = { name: block['name'], arguments: JSON.stringify(block['input'] ?? {}) };
  return { id: block['id'], type: 'function', function: called };
}

/** Throws for an invalid message. Blocks without an equivalent in OpenAI's shape (thoughts) are omitted. */
export function toChatCompletion(answer: unknown, context: { model: string; created: number }): JsonObject {
  if (!isObject(answer) || !Array.isArray(answer['content'])) throw new Error('the answer is no message');
  const blocks = answer['content'].filter(isObject);
  const text = blocks
    .filter(({ type }) => type === 'text')
    .map(textOf)
    .join('');
  const calls = blocks.filter(({ type }) => type === 'tool_use').map(toToolCall);
  const content: Json = text === '' && calls.length > 0 ? null : text;
  const message = {
    role: 'assistant',
    content,
    refusal: null,
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return {
    id: answer['id'],
    object: 'chat.completion',
    created: context.created,
    model: context.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: toFinishReason(answer['stop_reason']) }],
    ...(isObject(answer['usage']) && { usage: toUsage(answer['usage']) }),
  };
}
