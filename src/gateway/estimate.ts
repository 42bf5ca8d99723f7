// What a call costs by the price table, and the most that a request may use, estimated before it is asked.

import { OpenAiRefusal } from '../http/openai-error.ts';
import type { Endpoint } from './adapters/adapter.ts';
import type { Amount } from './allowance.ts';
import type { Price } from './catalogue/model.ts';
import { COMPLETION_TOKENS_DEFAULT } from './limits.ts';
import type { Caller, ModelCall } from './model-call.ts';
import { countTexts, type GatewayRequest, toNumber } from './request.ts';
import type { Model } from './targets.ts';
import { estimatePrompt, MEDIUM_TOKENS, type Usage } from './usage.ts';

/** Tokens, and their cost at the dearest of the models that may come to answer. */
export function estimateUse(
  call: Pick<ModelCall, 'endpoint' | 'request'>,
  { models, recentCompletionTokens }: { models: readonly Model[]; recentCompletionTokens: number },
): Amount {
  const { endpoint, request } = call;
  const promptTokens = estimatePrompt(request);
  const completionTokens = estimateCompletion(endpoint, { request, recentCompletionTokens });
  const usage: Usage = { promptTokens, completionTokens, estimated: true };
  const asked = { ...call, pictures: countChoices(call) };
  return {
    tokens: promptTokens + completionTokens,
    cost: Math.max(
      0,
      ...models.flatMap(({ price }) =>
        price === undefined
          ? []
          : [toCost(price, usage, asked), toCost(price, { ...usage, cacheWriteTokens: promptTokens }, asked)],
      ),
    ),
  };
}

/** The bound that the request states, else that of the key's recent completions, for each requested answer. */
function estimateCompletion(
  endpoint: Endpoint,
  { request, recentCompletionTokens }: { request: GatewayRequest; recentCompletionTokens: number },
): number {
  if (endpoint === 'embeddings') return 0;
  if (endpoint === 'images') return countChoices({ endpoint, request }) * MEDIUM_TOKENS;
  const stated = ['max_completion_tokens', 'max_tokens'].flatMap((name) => readCounts(request, name));
  const most = Math.max(0, ...stated);
  // A negative bound is none, with upstreams that take one.
  const isBounded = most > 0 && stated.every((bound) => bound >= 0);
  const each = isBounded ? most : Math.max(COMPLETION_TOKENS_DEFAULT, recentCompletionTokens, most);
  const prompts = endpoint === 'chat' ? 1 : countTexts(request, 'prompt');
  const answers = Math.max(1, ...readCounts(request, 'n'), ...readCounts(request, 'best_of'));
  return prompts * answers * each;
}

/** The choices that the answer is to have: each prompt of a list is answered. */
export const countChoices = ({ endpoint, request }: Pick<ModelCall, 'endpoint' | 'request'>): number =>
  Math.max(1, ...readCounts(request, 'n')) * (endpoint === 'completions' ? countTexts(request, 'prompt') : 1);

/** The numbers that a reservation goes by. */
const COUNTS = ['n', 'best_of', 'max_tokens', 'max_completion_tokens'];

/**
 * Throws 400 for a number that is written as something else: some upstreams understand `"50"` and `true`, and would do
 * more than was reserved.
 */
export function refuseOddCounts({ endpoint, request }: Pick<ModelCall, 'endpoint' | 'request'>): void {
  if (endpoint === 'embeddings') return;
  for (const name of COUNTS) {
    for (const value of request.all(name)) {
      if (value !== null && !Number.isFinite(toNumber(value)))
        throw new OpenAiRefusal('malformed', `'${name}' must be a number`, {
          param: name,
          code: 'invalid_value',
        });
    }
  }
}

/** All numbers of this name in any case: an upstream may use either. */
const readCounts = (request: GatewayRequest, name: string): number[] =>
  request.all(name).map(toNumber).filter(Number.isFinite).map(Math.ceil);

/** What the request asks for: `pictures` of an endpoint that makes them. */
type Asked = Pick<ModelCall, 'endpoint' | 'request'> & { pictures: number };

/** Pictures are charged by their own price, unless the upstream has told tokens and these have a price. */
export function toCost(price: Price, usage: Usage, { endpoint, request, pictures }: Asked): number {
  const hasTokenPrice = price.inputPerMillion > 0 || price.outputPerMillion > 0;
  if (endpoint === 'images' && price.perImage !== undefined && (usage.estimated || !hasTokenPrice))
    return pictures * priceOfPicture(price.perImage, request);
  const { promptTokens, completionTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
  const { inputPerMillion: input, cacheReadPerMillion = input, cacheWritePerMillion = input } = price;
  const plainTokens = Math.max(0, promptTokens - cacheReadTokens - cacheWriteTokens);
  const prompt =
    plainTokens * input + cacheReadTokens * cacheReadPerMillion + cacheWriteTokens * cacheWritePerMillion;
  return (prompt + completionTokens * price.outputPerMillion) / 1e6;
}

/** By quality and size, by one of them, else `default`, else the dearest: `auto` may be any of them. */
function priceOfPicture(prices: NonNullable<Price['perImage']>, request: ModelCall['request']): number {
  const read = (name: string): string => String(request.all(name).at(-1) ?? 'auto');
  const [quality, size] = [read('quality'), read('size')];
  for (const name of [`${quality} ${size}`, size, quality, 'default']) {
    const found = prices.get(name);
    if (found !== undefined) return found;
  }
  return Math.max(...prices.values());
}

/** Throws 400 where the key has a budget, and nobody has said what the model costs. */
export function requirePrice({ id, price, targets }: Model, { limits }: Caller): void {
  const isBuiltIn = targets.every(({ target }) => target.upstream === undefined);
  if (limits.budget_per_month === undefined || price !== undefined || isBuiltIn) return;
  throw new OpenAiRefusal(
    'malformed',
    `The API key has a budget, and the model ${id} has no price: state its 'price' in the models file (MODELS_CONFIG); 'price: 0' is for a model that costs nothing`,
    { param: 'model', code: 'model_without_price' },
  );
}
