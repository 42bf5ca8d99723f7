// A whole answer becomes the events that a stream of it would have had.

import { describe, expect, test } from 'bun:test';
import type { JsonObject } from '../../src/core/json.ts';
import { toChunks } from '../../src/gateway/chunks.ts';
import { parseEvents } from '../../src/gateway/events.ts';

const DONE = 'data: [DONE]\n\n';
const chunksOf = async (answer: JsonObject, includeUsage = false): Promise<string> =>
  Buffer.from(await toChunks(Buffer.from(JSON.stringify(answer)), includeUsage)).toString();
const read = (text: string) => parseEvents(text).map(({ chunk }) => chunk);

const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
const head = { id: 'c', created: 1, model: 'm' };
const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
const message = { role: 'assistant', content: 'hi', tool_calls: [call] };
const logprobs = { content: [{ token: 'hi', logprob: -1 }] };
const chat = {
  ...head,
  object: 'chat.completion',
  choices: [{ index: 0, message, finish_reason: 'stop', logprobs }],
  usage,
};

test('a conversation begins with its message, and ends with its reason', async () => {
  const text = await chunksOf(chat);
  const chunk = { ...head, object: 'chat.completion.chunk' };
  const delta = { ...message, tool_calls: [{ index: 0, ...call }] };
  expect(read(text)).toEqual([
    { ...chunk, choices: [{ index: 0, logprobs, delta, finish_reason: null }] },
    { ...chunk, choices: [{ index: 0, logprobs: null, delta: {}, finish_reason: 'stop' }] },
    undefined,
  ]);
  expect(text).toEndWith(DONE);
});

test('a completion is one event', async () => {
  const choice = { index: 0, text: 'hi', finish_reason: 'length' };
  const answer = { ...head, object: 'text_completion', choices: [choice] };
  expect(read(await chunksOf(answer))).toEqual([answer, undefined]);
});

test('the usage comes last where it is asked for, and is null before', async () => {
  const events = read(await chunksOf(chat, true));
  expect(events.map((each) => each?.['usage'])).toEqual([null, null, usage, undefined]);
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
    test(JSON.stringify(answer), async () => {
      expect(await chunksOf(answer, true)).toEndWith(DONE);
    });
});
