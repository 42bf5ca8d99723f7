// The most that a request may use, estimated from its bytes and a few of its members, without parsing the whole.

import type { Json } from '../core/json.ts';
import type { Endpoint } from './adapters/adapter.ts';
import type { Amount } from './allowance.ts';
import { COMPLETION_TOKENS_DEFAULT } from './limits.ts';
import type { ModelCall } from './model-call.ts';
import { countTexts, type GatewayRequest, readMember } from './request.ts';
import type { Model } from './targets.ts';
import { estimatePrompt, MEDIUM_TOKENS, toCost } from './usage.ts';

/** Tokens, and their cost at the dearest of the models that may come to answer. */
export function estimateUse(
  { endpoint, request }: Pick<ModelCall, 'endpoint' | 'request'>,
  { models, recentCompletionTokens }: { models: readonly Model[]; recentCompletionTokens: number },
): Amount {
  const promptTokens = estimatePrompt(request.bytes);
  const completionTokens = estimateCompletion(endpoint, { request, recentCompletionTokens });
  const usage = { promptTokens, completionTokens, estimated: true };
  return {
    tokens: promptTokens + completionTokens,
    cost: Math.max(0, ...models.map(({ price }) => (price === undefined ? 0 : toCost(price, usage)))),
  };
}

/** The bound that the request states, else that of the key's recent completions, for each requested answer. */
function estimateCompletion(
  endpoint: Endpoint,
  { request, recentCompletionTokens }: { request: GatewayRequest; recentCompletionTokens: number },
): number {
  if (endpoint === 'embeddings') return 0;
  const read = (name: string): number | undefined => toCount(tryMember(request, name));
  const answers = read('n') ?? 1;
  if (endpoint === 'images') return answers * MEDIUM_TOKENS;
  const bound = read('max_completion_tokens') ?? read('max_tokens');
  const each = bound ?? Math.max(COMPLETION_TOKENS_DEFAULT, recentCompletionTokens);
  if (endpoint === 'chat') return answers * each;
  // Each prompt of a list is answered.
  return countTexts(request, 'prompt') * Math.max(answers, read('best_of') ?? 1) * each;
}

const toCount = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : undefined;

/** A body that is not JSON is for the model to refuse. */
function tryMember(request: GatewayRequest, name: string): Json | undefined {
  try {
    return readMember(request, name);
  } catch {
    return undefined;
  }
}
