// Tokens are read where an upstream tells them, and never out of what a model said.

import { describe, expect, test } from 'bun:test';
import { GatewayRequest } from '../../src/gateway/request.ts';
import { checkAnswer, estimatePrompt, estimateTokens, fromUsage } from '../../src/gateway/usage.ts';
import { leastProcessorMs } from '../support/processor-time.ts';

const usageOf = (answer: string): unknown => checkAnswer(Buffer.from(answer)).usage;

const LARGE = 300_000;
const TOLD = { promptTokens: 5, completionTokens: 7, estimated: false };
const USAGE = '"usage":{"prompt_tokens":5,"completion_tokens":7,"details":{"cached":{"n":1}}}';

describe('a small answer', () => {
  test('tells its usage wherever it stands', () => {
    expect(usageOf(`{${USAGE},"choices":[]}`)).toEqual(TOLD);
    expect(usageOf(`{"choices":[{"usage":{"prompt_tokens":99}}], ${USAGE} }`)).toEqual(TOLD);
  });

  test('tells none by what was said', () => {
    expect(usageOf(`{"choices":[${JSON.stringify(`{${USAGE}}`)}]}`)).toBeUndefined();
    expect(usageOf(`{"choices":[{${USAGE}}]}`)).toBeUndefined();
  });
});

describe('a large answer', () => {
  test('tells its usage at its end', () => {
    expect(usageOf(`{"x":"${'a'.repeat(LARGE)}",${USAGE},"system_fingerprint":"fp"}`)).toEqual(TOLD);
  });

  test('tells none by what was said', () => {
    const said = JSON.stringify(`${'a'.repeat(LARGE)} {${USAGE}}`);
    expect(usageOf(`{"choices":[{"message":{"content":${said}}}]}`)).toBeUndefined();
  });

  test('is one when both its ends are, and otherwise parsed', () => {
    const check = (answer: string) => checkAnswer(Buffer.from(answer));
    expect(check(`\n {"data":[{"x":"${'a'.repeat(LARGE)}"}],${USAGE}} \n`)).toEqual({ usage: TOLD } as never);
    expect(() => check(`["${'a'.repeat(LARGE)}"]`)).toThrow();
    expect(() => check(`{"data":[{"x":"${'a'.repeat(LARGE)}`)).toThrow();
    expect(check(`{${USAGE},"data":[{"x":"${'a'.repeat(LARGE)}"}]}`).usage).toEqual(TOLD as never);
    expect(check(`{"error":{"message":"${'a'.repeat(LARGE)}"}}`).value).toContainKey('error');
  });
});

test('only counts are tokens', () => {
  expect(fromUsage({ prompt_tokens: 5, completion_tokens: 7 })).toEqual(TOLD);
  expect(fromUsage({ input_tokens: 5, output_tokens: 7 })).toEqual(TOLD);
  expect(fromUsage({ prompt_tokens: 5 })).toEqual({ ...TOLD, completionTokens: 0 });
  for (const odd of [
    null,
    5,
    'usage',
    {},
    { prompt_tokens: -1 },
    { prompt_tokens: 1.5 },
    { prompt_tokens: '5' },
    { prompt_tokens: 1e300 },
    { prompt_tokens: 5, completion_tokens: -7 },
  ])
    expect(fromUsage(odd)).toBeUndefined();
});

test('an estimate is never less than nothing, and counts every four bytes begun', () => {
  expect([0, 1, 4, 5].map(estimateTokens)).toEqual([0, 1, 1, 2]);
});

describe('what a request is estimated to ask', () => {
  const asking = (parts: unknown): number =>
    estimatePrompt(new GatewayRequest({ model: 'm', messages: [{ role: 'user', content: parts as never }] }));
  const picture = `data:image/png;base64,${'A'.repeat(4_000_000)}`;

  test('goes by its text', () => {
    expect(asking('a'.repeat(4000))).toBeWithin(1000, 1030);
  });

  test('does not go by the bytes of pictures and sounds', () => {
    const image = { type: 'image_url', image_url: { url: picture } };
    const sound = { type: 'input_audio', input_audio: { data: 'A'.repeat(4_000_000), format: 'wav' } };
    expect(asking([{ type: 'text', text: 'a'.repeat(4000) }, image, image, sound])).toBeWithin(1000, 5000);
    expect(asking([image])).toBeGreaterThan(500);
  });

  test('goes by texts that speak of data', () => {
    expect(asking(`"data:" ${'a'.repeat(4000)}`)).toBeWithin(1000, 1030);
    expect(asking(`data: ${'a b '.repeat(1000)}`)).toBeWithin(1000, 1030);
  });

  test('is quickly known', () => {
    const measure = (times: number): number =>
      leastProcessorMs(() => {
        asking('"data:'.repeat(5 * times));
        asking(Array.from({ length: times }, () => 'data:,a'));
      });
    measure(10_000);
    // Ten times the length; a quadratic cost would be a hundred times as much.
    expect(measure(100_000)).toBeLessThan(Math.max(measure(10_000), 1) * 40);
  });
});
