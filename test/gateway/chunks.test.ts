// An answer that is kept comes back the same, streamed or whole.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Json, JsonObject } from '../../src/core/json.ts';
import { fromChunks, toChunks } from '../../src/gateway/chunks.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const toolCall = fc.record({
  id: text,
  type: fc.constant('function'),
  function: fc.record({ name: text, arguments: fc.json() }),
});
const logprobs = fc.option(
  fc.record({ content: fc.array(fc.record({ token: text, logprob: fc.integer() }), { minLength: 1 }) }),
);
const reason = fc.constantFrom('stop', 'length', 'tool_calls', 'content_filter');
const usage = fc.record({ prompt_tokens: fc.nat(), completion_tokens: fc.nat(), total_tokens: fc.nat() });
const base = { id: text, created: fc.nat(), model: text, system_fingerprint: fc.option(text) };

const message = fc
  .record(
    {
      role: fc.constant('assistant'),
      content: fc.option(text),
      refusal: fc.option(text),
      tool_calls: fc.array(toolCall, { minLength: 1, maxLength: 3 }),
      reasoning_content: text,
    },
    { requiredKeys: ['role', 'content'] },
  )
  .map((value) => value as JsonObject);

const choicesOf = (choice: fc.Arbitrary<object>): fc.Arbitrary<object[]> =>
  fc
    .array(choice, { minLength: 1, maxLength: 3 })
    .map((choices) => choices.map((each, index) => ({ ...each, index })));

const chat = fc.record({
  ...base,
  object: fc.constant('chat.completion'),
  choices: choicesOf(fc.record({ message, finish_reason: reason, logprobs })),
  usage,
});
const completion = fc.record({
  ...base,
  object: fc.constant('text_completion'),
  choices: choicesOf(fc.record({ text, finish_reason: reason, logprobs: fc.constant(null) })),
  usage,
});

test('a whole answer as chunks, and they as a whole answer, is the same', () => {
  fc.assert(
    fc.property(fc.oneof(chat, completion), fc.boolean(), (answer, includeUsage) => {
      const whole = answer as unknown as JsonObject;
      const chunks = toChunks(whole, includeUsage);
      const told = includeUsage ? undefined : (whole['usage'] as JsonObject);
      expect(fromChunks(chunks.join(''), told)).toEqual(whole);
      const sent = chunks.slice(0, -1).map((chunk) => JSON.parse(chunk.slice(6)) as JsonObject);
      for (const chunk of sent.slice(0, includeUsage ? -1 : undefined))
        expect(chunk['usage']).toBe(includeUsage ? null : (undefined as unknown as null));
      if (includeUsage) expect(sent.at(-1)).toMatchObject({ choices: [], usage: whole['usage'] });
    }),
  );
});

const chunkOf = (choices: Json[], rest: JsonObject = {}): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...rest })}\n\n`;
const DONE = 'data: [DONE]\n\n';
const deltaOf = (delta: JsonObject, rest: JsonObject = {}): Json => ({
  index: 0,
  delta,
  finish_reason: null,
  ...rest,
});

describe('chunks as providers send them', () => {
  test('calls of tools grow piece by piece, several at once', () => {
    const call = (index: number, rest: JsonObject): JsonObject => ({ tool_calls: [{ index, ...rest }] });
    const stream = [
      chunkOf([deltaOf({ role: 'assistant', content: null })]),
      chunkOf([deltaOf(call(0, { id: 'a', type: 'function', function: { name: 'f', arguments: '' } }))]),
      chunkOf([deltaOf(call(0, { function: { arguments: '{"x"' } }))]),
      chunkOf([deltaOf(call(1, { id: 'b', type: 'function', function: { name: 'g', arguments: '' } }))]),
      chunkOf([deltaOf(call(0, { function: { arguments: ':1}' } }))]),
      chunkOf([deltaOf(call(1, { function: { arguments: '{}' } }))]),
      chunkOf([deltaOf({}, { finish_reason: 'tool_calls' })]),
      DONE,
    ].join('');
    expect(fromChunks(stream, undefined)?.['choices']).toEqual([
      {
        index: 0,
        message: {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
            { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
          ],
        },
        finish_reason: 'tool_calls',
      },
    ]);
  });

  test('calls of tools with one position and different ids are different calls', () => {
    const call = (rest: JsonObject): Json => deltaOf({ tool_calls: [{ index: 0, ...rest }] });
    const whole = (id: string, name: string, args: string): JsonObject => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    });
    const stream = [
      chunkOf([deltaOf({ role: 'assistant', content: null })]),
      chunkOf([call(whole('a', 'f', '{"x":1}'))]),
      chunkOf([call(whole('b', 'f', '{"x"'))]),
      chunkOf([call({ function: { arguments: ':2' } })]),
      // Some repeat the id, some send an empty one.
      chunkOf([call({ id: '', function: { arguments: '' } })]),
      chunkOf([call({ id: 'b', function: { arguments: '}' } })]),
      chunkOf([deltaOf({ tool_calls: [{ index: 1, ...whole('c', 'g', '{}') }] })]),
      chunkOf([deltaOf({}, { finish_reason: 'tool_calls' })]),
      DONE,
    ].join('');
    const choices = fromChunks(stream, undefined)?.['choices'] as { message: JsonObject }[] | undefined;
    expect(choices?.[0]?.message['tool_calls']).toEqual([
      whole('a', 'f', '{"x":1}'),
      whole('b', 'f', '{"x":2}'),
      whole('c', 'g', '{}'),
    ]);
  });

  test('log probabilities of all tokens are kept', () => {
    const token = (name: string): JsonObject => ({ content: [{ token: name, logprob: -1 }] });
    const stream = [
      chunkOf([deltaOf({ role: 'assistant', content: 'a' }, { logprobs: token('a') })]),
      chunkOf([deltaOf({ content: 'b' }, { logprobs: token('b') })]),
      chunkOf([deltaOf({}, { finish_reason: 'stop', logprobs: null })]),
      DONE,
    ].join('');
    const choices = fromChunks(stream, undefined)?.['choices'] as JsonObject[] | undefined;
    expect(choices?.[0]?.['logprobs']).toEqual({
      content: [
        { token: 'a', logprob: -1 },
        { token: 'b', logprob: -1 },
      ],
    });
  });

  test('the usage at the end is the whole answer’s', () => {
    const told = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
    const stream = [
      chunkOf([deltaOf({ role: 'assistant', content: 'a' }, { finish_reason: 'stop' })], { usage: null }),
      chunkOf([], { usage: told }),
      DONE,
    ].join('');
    expect(fromChunks(stream, undefined)?.['usage']).toEqual(told);
  });
});

describe('is not kept', () => {
  const said = chunkOf([deltaOf({ role: 'assistant', content: 'a' })]);
  const odd = {
    'a stream without [DONE]': said,
    'a stream with an error': `${said}data: {"error":{"message":"x"}}\n\n${DONE}`,
    'a stream with a chunk that is no JSON': `${said}data: {"id": not\n\n${DONE}`,
    'an empty stream': DONE,
    'a chunk that is null': `${said}data: null\n\n${DONE}`,
    'a choice that is null': `${said}${chunkOf([null])}${DONE}`,
    'a choice without an index': `${chunkOf([{ delta: { content: 'a' } }])}${DONE}`,
    'a delta that is a text': `${said}${chunkOf([deltaOf('b' as unknown as JsonObject)])}${DONE}`,
    'a call of a tool that is null': `${said}${chunkOf([deltaOf({ tool_calls: [null] })])}${DONE}`,
    'a call of a tool far away': `${said}${chunkOf([deltaOf({ tool_calls: [{ index: 4e9 }] })])}${DONE}`,
    'a choice that does not finish': `${said}${DONE}`,
    'one of two choices that does not finish': `${chunkOf([deltaOf({ content: 'a' }, { finish_reason: 'stop' }), { index: 1, delta: { content: 'b' }, finish_reason: null }])}${DONE}`,
    'pieces of something unknown': `${chunkOf([deltaOf({ audio: 'a' })])}${chunkOf([deltaOf({ audio: 'b' })])}${DONE}`,
  };
  for (const [name, stream] of Object.entries(odd))
    test(name, () => {
      expect(fromChunks(stream, undefined)).toBeUndefined();
    });
});

describe('a whole answer that is hard to stream', () => {
  const answers: JsonObject[] = [
    {},
    { choices: null },
    { choices: 5 },
    { choices: [null] },
    { choices: [{ index: 0 }], object: 'chat.completion' },
    { choices: [{ index: 0, message: null }], object: 'chat.completion' },
    { choices: [{ index: 0, message: { tool_calls: [null] } }], object: 'chat.completion' },
  ];
  for (const answer of answers)
    test(JSON.stringify(answer), () => {
      expect(toChunks(answer, true).at(-1)).toBe(DONE);
    });
});
