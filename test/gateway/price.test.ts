// What a request may use, before it is asked: never less than what it says that it wants.

import { expect, test } from 'bun:test';
import { COMPLETION_TOKENS_DEFAULT } from '../../src/gateway/limits.ts';
import { estimateUse } from '../../src/gateway/price.ts';
import { type Endpoint, readRequest } from '../../src/gateway/request.ts';
import type { Model } from '../../src/gateway/targets.ts';

const modelOf = (price: Model['price']): Model => ({
  id: 'm',
  endpoints: ['chat'],
  strategy: 'weighted',
  targets: [],
  fallbacks: [],
  candidates: [],
  price,
  cacheTtlSeconds: 0,
  created: 0,
  ownedBy: 'test',
  description: undefined,
});

async function estimate(
  endpoint: Endpoint,
  body: object | string,
  { recentCompletionTokens = 0, models = [modelOf(undefined)] } = {},
) {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const asked = { endpoint, request: await readRequest(bytes) };
  const { tokens, cost } = estimateUse(asked, { models, recentCompletionTokens });
  return { completion: tokens - Math.ceil(bytes.length / 4), cost };
}

const completionOf = async (...given: Parameters<typeof estimate>): Promise<number> =>
  (await estimate(...given)).completion;

test('a completion is as long as its bound, else as the default or the longest of late', async () => {
  expect(await completionOf('chat', {})).toBe(COMPLETION_TOKENS_DEFAULT);
  expect(await completionOf('chat', {}, { recentCompletionTokens: 7000 })).toBe(7000);
  expect(await completionOf('chat', { max_tokens: 10 }, { recentCompletionTokens: 7000 })).toBe(10);
  expect(await completionOf('chat', { max_tokens: 10, max_completion_tokens: 20 })).toBe(20);
  for (const odd of [null, 'ten', -5, 0, {}, [1]])
    expect(await completionOf('chat', { max_tokens: odd })).toBe(COMPLETION_TOKENS_DEFAULT);
});

test('of several bounds the larger counts, whatever an upstream goes by', async () => {
  expect(await completionOf('chat', { max_tokens: 5000, max_completion_tokens: 1 })).toBe(5000);
  expect(await completionOf('chat', '{"max_tokens":1,"Max_Tokens":5000}')).toBe(5000);
  expect(await completionOf('chat', { max_tokens: -1, max_completion_tokens: 1 })).toBe(
    COMPLETION_TOKENS_DEFAULT,
  );
  // Numbers that a double does not hold, or that have an exponent.
  for (const n of ['50', '50.0', '5e1', '0.5E+2', '50.000000000000000000', '49.5'])
    expect(await completionOf('chat', `{"max_tokens":10,"n":${n}}`)).toBe(500);
});

test('each answer to each prompt counts', async () => {
  expect(await completionOf('chat', { n: 3, max_tokens: 10 })).toBe(30);
  expect(await completionOf('completions', { prompt: 'a', best_of: 4, n: 2, max_tokens: 10 })).toBe(40);
  expect(await completionOf('completions', { prompt: ['a', 'b', 'c'], n: 2, max_tokens: 10 })).toBe(60);
  expect(await completionOf('completions', { prompt: [[1, 2], [3]], max_tokens: 10 })).toBe(20);
  expect(await completionOf('completions', { prompt: [1, 2, 3], max_tokens: 10 })).toBe(10);
  expect(await completionOf('images', { n: 2, prompt: 'a' })).toBe(2000);
  expect(await completionOf('embeddings', { input: ['a'], max_tokens: 10 })).toBe(0);
});

test('it costs what the dearest of the models takes', async () => {
  const models = [
    modelOf({ inputPerMillion: 1, outputPerMillion: 1 }),
    modelOf({ inputPerMillion: 0, outputPerMillion: 1_000_000 }),
    modelOf(undefined),
  ];
  expect((await estimate('chat', { max_tokens: 10 }, { models })).cost).toBe(10);
  expect((await estimate('chat', { max_tokens: 10 })).cost).toBe(0);
});
