// The attempts of a request: their order, and the only loop over them, until one answers. Nothing is tried again once a byte has gone
// to the client.

import type { EmbedTexts } from '../core/embed-texts.ts';
import { sleep } from '../core/wait.ts';
import { OpenAiRefusal } from '../http/openai-error.ts';
import { type Answer, AttemptFailure } from './answer.ts';
import { LOCAL_CHAT_MODEL } from './catalogue/model.ts';
import { BACKOFF_BASE_MS, BACKOFF_MS_MAX, REST_MS_MAX, RETRY_AFTER_MS_MAX } from './limits.ts';
import { echo } from './local/echo.ts';
import { embedLocally } from './local/embeddings.ts';
import type { ModelCall } from './model-call.ts';
import type { AttemptOutcome, Model, Target, WeightedTarget } from './targets.ts';
import { callUpstream, type UpstreamDeps } from './upstream-call.ts';

export type Attempt = { model: Model; target: Target };

/** What is known of the attempts of one call. */
export type Execution = {
  readonly model: Model;
  /** The last attempt, which has answered or failed. */
  last: Attempt | undefined;
};

export type AttemptDeps = UpstreamDeps & { embed: EmbedTexts; random?: () => number };

/** How a target has failed this request. */
type Failed = { failure: AttemptFailure; atMs: number; times: number };

export class Attempts {
  private readonly deps: AttemptDeps;
  private readonly random: () => number;

  constructor(deps: AttemptDeps) {
    this.deps = deps;
    this.random = deps.random ?? Math.random;
  }

  /**
   * The first answer. Throws the last failure as an OpenAiRefusal, or returns it as the upstream's own refusal; throws the reason of the
   * signal when the caller has gone.
   */
  async run(call: ModelCall, execution: Execution): Promise<Answer> {
    let told: { failure: AttemptFailure; attempt: Attempt } | undefined;
    let passedOver: AttemptFailure | undefined;
    let number = 0;
    let failed: Map<Target, Failed> | undefined;
    for (const attempt of planAttempts(execution.model, performance.now(), this.random)) {
      const { target, model } = attempt;
      const earlier = failed?.get(target);
      if (earlier !== undefined && !(await this.mayRetry(earlier, call.signal))) continue;
      execution.last = attempt;
      number += 1;
      try {
        return await this.tryOnce(target, call, number);
      } catch (error) {
        if (!(error instanceof AttemptFailure)) throw error;
        failed ??= new Map();
        failed.set(target, { failure: error, atMs: performance.now(), times: (earlier?.times ?? 0) + 1 });
        const isSubstitute =
          model !== execution.model || (told !== undefined && told.attempt.target !== target);
        // What a substitute refuses, the caller is not told in place of the failure of a target that could have answered.
        if (error.isUnable || (isSubstitute && error.next === 'none' && call.atMostOnce !== true)) {
          passedOver ??= error;
          continue;
        }
        told = { failure: error, attempt };
        if (error.next === 'none' || (call.atMostOnce === true && error.sent)) break;
      }
    }
    execution.last = told?.attempt ?? execution.last;
    const failure = told?.failure ?? passedOver;
    if (failure?.answer !== undefined) return failure.answer;
    throw failure?.refusal ?? new OpenAiRefusal('unavailable', 'The model has no target that could be asked');
  }

  /** Throws AttemptFailure, which is counted, logged, and heeded by later requests. */
  private async tryOnce(target: Target, call: ModelCall, number: number): Promise<Answer> {
    const made = { target, call, number, startedAtMs: performance.now() };
    try {
      const { upstream } = target;
      const answer = await (upstream === undefined
        ? this.answerLocally(target.model, call)
        : callUpstream(made, upstream, this.deps));
      target.attempts.ok += 1;
      return answer;
    } catch (error) {
      const failure = toFailure(error);
      target.attempts[outcomeOf(failure)] += 1;
      if (!(failure instanceof AttemptFailure)) throw failure;
      if (failure.retryAfterMs !== undefined)
        target.cooldownUntilMs = performance.now() + Math.min(failure.retryAfterMs, REST_MS_MAX);
      if (!failure.isUnable && !failure.isCallersMistake) this.deps.log.note(made, failure);
      throw failure;
    }
  }

  private answerLocally(model: string, call: ModelCall): Promise<Answer> {
    return model === LOCAL_CHAT_MODEL ? echo(call) : embedLocally(call, this.deps.embed);
  }

  /** Waits for the retry's time. False where there is none, or where the wait would be longer than a caller should be kept. */
  private async mayRetry({ failure, atMs, times }: Failed, signal: AbortSignal): Promise<boolean> {
    const { retryAfterMs } = failure;
    if (failure.next !== 'same' || (retryAfterMs !== undefined && retryAfterMs > RETRY_AFTER_MS_MAX))
      return false;
    const backoffMs = this.random() * Math.min(BACKOFF_MS_MAX, BACKOFF_BASE_MS * 2 ** (times - 1));
    await sleep(Math.ceil(atMs + (retryAfterMs ?? backoffMs) - performance.now()), signal);
    signal.throwIfAborted();
    return true;
  }
}

/** A full queue and a request that a target has no words for leave the others; any other error but a failure is thrown as it is. */
const toFailure = (error: unknown): unknown =>
  error instanceof OpenAiRefusal && ['unavailable', 'malformed'].includes(error.kind)
    ? new AttemptFailure(error, { next: 'others', sent: false, unwell: false })
    : error;

function outcomeOf(failure: unknown): AttemptOutcome {
  if (!(failure instanceof AttemptFailure)) return 'left';
  if (failure.refusal.kind === 'upstream-timeout') return 'timed-out';
  return failure.answer !== undefined || !failure.refusal.kind.startsWith('upstream') ? 'refused' : 'failed';
}

/**
 * Attempts in order: the model's targets, then those of its fallbacks. Each target is tried once before any is retried, and none more
 * often than its retries permit. Targets that fail or are in a cooldown come last, and are tried once only: a last attempt is better
 * than none.
 */
export function planAttempts(model: Model, nowMs: number, random: () => number): readonly Attempt[] {
  const attempts: Attempt[] = [];
  const unfit: Attempt[] = [];
  for (const candidate of model.candidates) {
    const targets = order(candidate, nowMs, random);
    const fit = targets.filter((target) => target.isFit(nowMs));
    const tries = Math.max(0, ...fit.map((target) => target.tries));
    let left = Math.max(tries, fit.length);
    for (let round = 0; round < tries; round++)
      for (const target of fit)
        if (target.tries > round && left-- > 0) attempts.push({ model: candidate, target });
    for (const target of targets) if (!fit.includes(target)) unfit.push({ model: candidate, target });
  }
  return [...attempts, ...unfit];
}

/** The targets of one model, drawn by their weights, or by the latency that was measured. */
function order({ targets, strategy }: Model, nowMs: number, random: () => number): Target[] {
  const left = [...targets];
  const ordered: Target[] = [];
  while (left.length > 0) {
    const chosen = strategy === 'latency' ? betterOfTwo(left, nowMs, random) : byWeight(left, random);
    ordered.push(...left.splice(chosen, 1).map(({ target }) => target));
  }
  return ordered;
}

/** An index, drawn in proportion to the weights; those of weight 0 come last. */
function byWeight(targets: readonly WeightedTarget[], random: () => number): number {
  let left = random() * targets.reduce((total, { weight }) => total + weight, 0);
  for (const [index, { weight }] of targets.entries()) {
    left -= weight;
    if (left < 0) return index;
  }
  return targets.length - 1;
}

/**
 * Power of two choices: of two targets drawn at random, the one with the shorter expected wait. So requests do not all go to the best
 * target, and few go to slow ones.
 */
function betterOfTwo(targets: readonly WeightedTarget[], nowMs: number, random: () => number): number {
  const first = Math.floor(random() * targets.length);
  const second = (first + 1 + Math.floor(random() * (targets.length - 1))) % targets.length;
  const waitOf = (index: number): number => {
    const { target, weight } = targets[index] as WeightedTarget;
    return target.expectedWaitMs(nowMs) / Math.max(weight, 1e-9);
  };
  return waitOf(first) <= waitOf(second) ? first : second;
}
