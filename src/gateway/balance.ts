// The order of several targets of one model: drawn by their weights, or by the latency that was measured.

import { LATENCY_DECAY_MS } from './limits.ts';
import type { Model, Target, WeightedTarget } from './targets.ts';

export type BalanceOptions = { nowMs: number; random: () => number };

export function order({ targets, strategy }: Model, options: BalanceOptions): Target[] {
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
function betterOfTwo(targets: readonly WeightedTarget[], { random, nowMs }: BalanceOptions): number {
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
