// What a call costs, in the units of the price table.

import { OpenAiRefusal } from '../http/openai-error.ts';
import type { Price } from './catalogue/model.ts';
import type { Caller, ModelCall } from './model-call.ts';
import type { Model } from './targets.ts';
import type { Usage } from './usage.ts';

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
