// Messages as Anthropic answers them, whole and as events, and what a client of OpenAI's makes of chunks.

import fc from 'fast-check';
import type { Json, JsonObject } from '../../src/core/json.ts';

export type AnthropicMessage = JsonObject & { content: JsonObject[]; usage: JsonObject };

const block: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.record({ type: fc.constant('text'), text: fc.string({ unit: 'grapheme', maxLength: 40 }) }),
  fc.record({
    type: fc.constant('tool_use'),
    id: fc.uuid(),
    name: fc.string({ minLength: 1 }),
    input: fc.dictionary(fc.string(), fc.jsonValue() as fc.Arbitrary<Json>, { maxKeys: 3 }),
  }),
);

const count = fc.nat(100_000);

export const messages: fc.Arbitrary<AnthropicMessage> = fc.record({
  id: fc.uuid(),
  type: fc.constant('message'),
  content: fc.array(block, { maxLength: 5 }),
  stop_reason: fc.constantFrom('end_turn', 'max_tokens', 'tool_use', 'refusal', 'stop_sequence'),
  usage: fc.record({
    input_tokens: count,
    cache_creation_input_tokens: count,
    cache_read_input_tokens: count,
    output_tokens: count,
  }),
});

/** The text in pieces of the given lengths, over and over. */
function cut(text: string, lengths: readonly number[]): string[] {
  const pieces: string[] = [];
  for (let from = 0, turn = 0; from < text.length; turn++) {
    const length = Math.max(1, lengths[turn % lengths.length] ?? 1);
    pieces.push(text.slice(from, from + length));
    from += length;
  }
  return pieces;
}

/** The same message as Anthropic streams it. */
export function eventsOf(message: AnthropicMessage, lengths: readonly number[]): JsonObject[] {
  const { content, usage, stop_reason, ...head } = message;
  const started = { ...usage, output_tokens: 1 };
  return [
    { type: 'message_start', message: { ...head, content: [], stop_reason: null, usage: started } },
    { type: 'ping' },
    ...content.flatMap((each, index) => blockEvents(each, index, lengths)),
    { type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: usage['output_tokens'] } },
    { type: 'message_stop' },
  ];
}

function blockEvents(each: JsonObject, index: number, lengths: readonly number[]): JsonObject[] {
  const { text } = each;
  const isText = typeof text === 'string';
  // No input at all comes as an empty text.
  const json = JSON.stringify(each['input'] ?? {});
  const pieces = cut(isText ? text : json === '{}' ? '' : json, lengths);
  const content_block = { ...each, ...(isText ? { text: '' } : { input: {} }) };
  const deltas = isText
    ? pieces.map((piece) => ({ type: 'text_delta', text: piece }))
    : ['', ...pieces].map((piece) => ({ type: 'input_json_delta', partial_json: piece }));
  return [
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}

type Delta = {
  content?: string;
  tool_calls?: { index: number; id?: string; function: Record<string, string> }[];
};
type Chunk = { choices: { delta: Delta; finish_reason: string | null }[]; usage?: JsonObject | null };

/** The chat completion that a client puts together from chunks. */
export function assemble(chunks: readonly JsonObject[]): JsonObject {
  const { id, created, model } = chunks[0] ?? {};
  const calls: JsonObject[] = [];
  let content = '';
  let hasText = false;
  let finish: string | null = null;
  let usage: JsonObject | undefined;
  for (const { choices, usage: counted } of chunks as unknown as Chunk[]) {
    usage = counted ?? usage;
    for (const { delta, finish_reason } of choices) {
      finish = finish_reason ?? finish;
      content += delta.content ?? '';
      hasText ||= (delta.content ?? '') !== '';
      for (const call of delta.tool_calls ?? []) addToCall(calls, call);
    }
  }
  const message = {
    role: 'assistant',
    content: calls.length > 0 && !hasText ? null : content,
    refusal: null,
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
    usage,
  };
}

function addToCall(
  calls: JsonObject[],
  { index, id, function: part }: NonNullable<Delta['tool_calls']>[number],
): void {
  const known = calls[index]?.['function'] as Record<string, string> | undefined;
  if (known === undefined) calls[index] = { id, type: 'function', function: { ...part } };
  else known['arguments'] += part['arguments'] ?? '';
}
