// The model of a request, and the order in which its targets are tried, by their measured latency: a request and the
// catalogue → attempts.

import { OpenAiRefusal } from '../http/openai-error.ts';
import { LATENCY_DECAY_MS } from './limits.ts';
import type { ModelCall } from './model-call.ts';
import type { Catalogue, Model, Target, WeightedTarget } from './targets.ts';

export type Attempt = { model: Model; target: Target };

export type PlanOptions = { nowMs: number; random: () => number };

/**
 * The model that is named, else the stated default of the endpoint. Throws 404, naming the models there are; 400 for one
 * that cannot do this; 501 where none can.
 */
export function findModel(
  catalogue: Catalogue,
  { endpoint, request }: Pick<ModelCall, 'endpoint' | 'request'>,
): Model {
  if (endpoint === 'images' && !catalogue.models.some(({ endpoints }) => endpoints.includes('images')))
    throw new OpenAiRefusal('not-implemented', 'No model that makes images is configured');
  const name = request.model ?? catalogue.statedDefaults[endpoint];
  if (name === undefined || name === '') {
    throw new OpenAiRefusal('malformed', "The member 'model' is required", {
      param: 'model',
      code: 'missing_required_parameter',
    });
  }
  const model = catalogue.byId.get(name);
  if (model === undefined) throw modelNotFound(catalogue, name);
  if (!model.endpoints.includes(endpoint)) {
    const can = model.endpoints.join(', ');
    throw new OpenAiRefusal('malformed', `The model ${model.id} cannot do ${endpoint}; it does ${can}`, {
      param: 'model',
    });
  }
  return model;
}

/** 404, naming the models there are. */
export function modelNotFound({ models, onMissing }: Catalogue, name: string): OpenAiRefusal {
  onMissing?.();
  const shown = JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
  const names = models.map(({ id }) => id).join(', ');
  return new OpenAiRefusal('not-found', `The model ${shown} does not exist. There are: ${names}`, {
    code: 'model_not_found',
    param: 'model',
  });
}

/**
 * Attempts in order: the model's targets, then those of its fallbacks. Targets that fail or are in a cooldown come
 * last, and are tried once only: a last attempt is better than none. The execution stops at the first answer.
 */
export function planAttempts(catalogue: Catalogue, model: Model, options: PlanOptions): readonly Attempt[] {
  const [only] = model.targets;
  if (only !== undefined && model.targets.length === 1 && model.fallbacks.length === 0) {
    const { target } = only;
    return Array<Attempt>(isFit(target, options.nowMs) ? triesOf(target) : 1).fill({ model, target });
  }
  const attempts: Attempt[] = [];
  const unfit: Attempt[] = [];
  for (const each of withFallbacks(catalogue, model)) {
    const targets = order(each, options);
    const fit = targets.filter((target) => isFit(target, options.nowMs));
    const tries = Math.max(0, ...fit.map(triesOf));
    // Each target is tried once before any is retried, and none more often than its retries permit.
    let left = Math.max(tries, fit.length);
    for (let round = 0; round < tries; round++) {
      for (const target of fit) {
        if (triesOf(target) > round && left-- > 0) attempts.push({ model: each, target });
      }
    }
    for (const target of targets) if (!fit.includes(target)) unfit.push({ model: each, target });
  }
  return [...attempts, ...unfit];
}

/** All models that may come to answer. */
export function withFallbacks(catalogue: Catalogue, model: Model): Model[] {
  const models = [model];
  for (const id of model.fallbacks) {
    const fallback = catalogue.byId.get(id);
    if (fallback !== undefined) models.push(fallback);
  }
  return models;
}

const triesOf = ({ upstream }: Target): number => 1 + (upstream?.spec.retries ?? 0);

const isFit = ({ circuit, cooldownUntilMs }: Target, nowMs: number): boolean =>
  circuit.allows() && cooldownUntilMs <= nowMs;

function order({ targets, strategy }: Model, options: PlanOptions): Target[] {
  const left = [...targets];
  const ordered: Target[] = [];
  while (left.length > 0) {
    const chosen = strategy === 'latency' ? betterOfTwo(left, options) : byWeight(left, options.random);
    ordered.push(...left.splice(chosen, 1).map(({ target }) => target));
  }
  return ordered;
}

/** An index, drawn in proportion to the weights; those of weight 0 come last. */
function byWeight(targets: readonly WeightedTarget[], random: () => number): number {
  const sum = targets.reduce((total, { weight }) => total + weight, 0);
  let left = random() * sum;
  for (const [index, { weight }] of targets.entries()) {
    left -= weight;
    if (left < 0) return index;
  }
  return targets.length - 1;
}

/**
 * Power of two choices: of two targets drawn at random, the one with the shorter expected wait (peak EWMA, as in
 * Finagle's load balancer). So requests do not all go to the best target, and few go to slow ones.
 */
function betterOfTwo(targets: readonly WeightedTarget[], { random, nowMs }: PlanOptions): number {
  const first = Math.floor(random() * targets.length);
  const second = (first + 1 + Math.floor(random() * (targets.length - 1))) % targets.length;
  const [a, b] = [targets[first], targets[second]];
  if (a === undefined || b === undefined) return first;
  return expectedWait(a, nowMs) <= expectedWait(b, nowMs) ? first : second;
}

/** The measured latency decays, because a target that is never called would otherwise stay slow for ever. */
const expectedWait = ({ target, weight }: WeightedTarget, nowMs: number): number =>
  (target.latencyMs * keptOf(target, nowMs) * (target.running + 1)) / Math.max(weight, 1e-9);

const keptOf = ({ latencyAtMs }: Target, nowMs: number): number =>
  Math.exp(-(nowMs - latencyAtMs) / LATENCY_DECAY_MS);

/** A slower answer counts at once; faster ones are averaged in slowly. */
export function noteLatency(target: Target, latencyMs: number, nowMs: number): void {
  const kept = keptOf(target, nowMs);
  target.latencyMs =
    latencyMs > target.latencyMs ? latencyMs : target.latencyMs * kept + latencyMs * (1 - kept);
  target.latencyAtMs = nowMs;
}
