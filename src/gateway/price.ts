// What a call costs by the price table, and the most that a request may use, estimated before it is asked.

import { OpenAiRefusal } from '../http/openai-error.ts';
import type { Amount } from './allowance.ts';
import type { Price } from './catalogue/model.ts';
import { COMPLETION_TOKENS_DEFAULT } from './limits.ts';
import type { Caller } from './model-call.ts';
import type { Endpoint, GatewayRequest } from './request.ts';
import type { Model } from './targets.ts';
import { estimatePrompt, MEDIUM_TOKENS, type Usage } from './usage.ts';

type Asked = { endpoint: Endpoint; request: GatewayRequest };

/** Tokens, and their cost at the dearest of the models that may come to answer. */
export function estimateUse(
  call: Asked,
  { models, recentCompletionTokens }: { models: readonly Model[]; recentCompletionTokens: number },
): Amount {
  const promptTokens = estimatePrompt(call.request);
  const completionTokens = estimateCompletion(call, recentCompletionTokens);
  const usage: Usage = { promptTokens, completionTokens, estimated: true };
  let cost = 0;
  for (const { price } of models) {
    if (price === undefined) continue;
    const cached = toCost(price, { ...usage, cacheWriteTokens: promptTokens }, call);
    cost = Math.max(cost, cached, toCost(price, usage, call));
  }
  return { tokens: promptTokens + completionTokens, cost };
}

/** The bound that the request states, else that of the key's recent completions, for each requested answer. */
function estimateCompletion({ endpoint, request }: Asked, recentCompletionTokens: number): number {
  if (endpoint === 'embeddings') return 0;
  if (endpoint === 'images') return request.countChoices(endpoint) * MEDIUM_TOKENS;
  const stated = [...request.counts('max_completion_tokens'), ...request.counts('max_tokens')];
  const most = Math.max(0, ...stated);
  // A negative bound is none, with upstreams that take one.
  const isBounded = most > 0 && stated.every((bound) => bound >= 0);
  const each = isBounded ? most : Math.max(COMPLETION_TOKENS_DEFAULT, recentCompletionTokens, most);
  const prompts = endpoint === 'chat' ? 1 : request.countTexts('prompt');
  return prompts * Math.max(1, ...request.counts('n'), ...request.counts('best_of')) * each;
}

/** Pictures are charged by their own price, unless the upstream has told tokens and these have a price. */
export function toCost(price: Price, usage: Usage, { endpoint, request }: Asked): number {
  const hasTokenPrice = price.inputPerMillion > 0 || price.outputPerMillion > 0;
  if (endpoint === 'images' && price.perImage !== undefined && (usage.estimated || !hasTokenPrice))
    return request.countChoices(endpoint) * priceOfPicture(price.perImage, request);
  const { promptTokens, completionTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
  const { inputPerMillion: input, cacheReadPerMillion = input, cacheWritePerMillion = input } = price;
  const plainTokens = Math.max(0, promptTokens - cacheReadTokens - cacheWriteTokens);
  const prompt =
    plainTokens * input + cacheReadTokens * cacheReadPerMillion + cacheWriteTokens * cacheWritePerMillion;
  return (prompt + completionTokens * price.outputPerMillion) / 1e6;
}

/** By quality and size, by one of them, else `default`, else the dearest: `auto` may be any of them. */
function priceOfPicture(prices: NonNullable<Price['perImage']>, { body }: GatewayRequest): number {
  const { quality = 'auto', size = 'auto' } = body;
  for (const name of [`${quality} ${size}`, `${size}`, `${quality}`, 'default']) {
    const found = prices.get(name);
    if (found !== undefined) return found;
  }
  return Math.max(...prices.values());
}

/** Throws 400 where the key has a budget and the model has no stated price. */
export function requirePrice({ id, price, targets }: Model, { limits }: Caller): void {
  if (limits.budget_per_month === undefined || price !== undefined) return;
  if (targets.every(({ target }) => target.upstream === undefined)) return;
  throw new OpenAiRefusal(
    'malformed',
    `The API key has a budget, and the model ${id} has no price: state its 'price' in the models file (MODELS_CONFIG); 'price: 0' is for a model that costs nothing`,
    { param: 'model', code: 'model_without_price' },
  );
}
