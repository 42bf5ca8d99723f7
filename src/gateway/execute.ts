// The attempts of a request: their order, and the only loop over them, until one answers. Nothing is tried again once a byte has gone
// to the client.

import type { EmbedTexts } from '../core/embed-texts.ts';
import { sleep } from '../core/wait.ts';
import { OpenAiRefusal } from '../http/openai-error.ts';
import { type Answer, AttemptFailure, type StreamAnswer } from './answer.ts';
import { type AttemptDeps, attempt } from './attempt.ts';
import type { FailedAttempt, LogFailedAttempt } from './attempt-log.ts';
import { type BalanceOptions, order } from './balance.ts';
import { BACKOFF_BASE_MS, BACKOFF_MS_MAX, REST_MS_MAX, RETRY_AFTER_MS_MAX } from './limits.ts';
import { answerLocally } from './local/index.ts';
import type { Call } from './model-call.ts';
import type { Model, Target, TargetFailure } from './targets.ts';

export type Attempt = { model: Model; target: Target };

/** The request of one call. */
export type Execution = {
  readonly model: Model;
  /** The last attempt, which has answered or failed. */
  last: Attempt | undefined;
};

export type Execute = (call: Call, execution: Execution) => Promise<Answer>;

export type AttemptOutcome = 'ok' | 'refused' | 'failed' | 'timed-out' | 'left';

/** Attempts since the start, by the name of their target. */
export type AttemptCounts = Map<string, Partial<Record<AttemptOutcome, number>>>;

export type ExecuteDeps = AttemptDeps & {
  embed: EmbedTexts;
  /** Each attempt is added. */
  attempts: AttemptCounts;
  logFailedAttempt: LogFailedAttempt;
  random?: () => number;
};

/** Throws the last failure as an OpenAiRefusal, or the reason of the signal when the caller has gone. */
export function createExecute(deps: ExecuteDeps): Execute {
  const { logFailedAttempt, random = Math.random } = deps;
  const noteFailure: LogFailedAttempt = (failed) => {
    failed.target.lastFailure = toTargetFailure(failed.failure);
    logFailedAttempt(failed);
  };
  const count = ({ name }: Target, outcome: AttemptOutcome): void => {
    const counts = deps.attempts.get(name) ?? {};
    deps.attempts.set(name, counts);
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  };
  /** One attempt: its answer, or why there is none. */
  const tryOnce = async ({ target }: Attempt, call: Call, number: number): Promise<Result> => {
    const made = { target, call, number, startedAtMs: performance.now() };
    try {
      const { upstream } = target;
      const answer = await (upstream === undefined
        ? answerLocally(target.model, call, deps.embed)
        : attempt(target, upstream, call, deps));
      count(target, 'ok');
      return answer.kind === 'stream' ? reporting(answer, made, noteFailure) : answer;
    } catch (error) {
      count(target, outcomeOf(error));
      const failure = toFailure(error);
      if (!isUnable(failure)) noteFailure({ ...made, failure });
      return failure;
    }
  };
  return async (call, execution) => {
    let told: { failure: AttemptFailure | OpenAiRefusal; attempt: Attempt } | undefined;
    let passedOver: Result | undefined;
    let number = 0;
    let failed: Map<Target, Failed> | undefined;
    for (const next of planAttempts(execution.model, { nowMs: performance.now(), random })) {
      const { target } = next;
      const earlier = failed?.get(target);
      if (earlier !== undefined && !(await mayRetry(earlier, call.signal, random))) continue;
      execution.last = next;
      const result = await tryOnce(next, call, ++number);
      // What a substitute refuses, the caller is not told in place of the failure of a target that could have answered.
      const isSubstitute =
        next.model !== execution.model || (told !== undefined && told.attempt.target !== target);
      const isPassedOver =
        isUnable(result) || (isSubstitute && call.atMostOnce !== true && refusesRequest(result));
      failed ??= new Map();
      if (isPassedOver) {
        passedOver ??= result;
        failed.set(target, SPENT);
      } else if (result instanceof Error) {
        failed.set(target, toFailed(result, performance.now(), earlier));
        told = { failure: result, attempt: next };
        if (result instanceof AttemptFailure && rest(target, result, call) === 'ends') break;
      } else return result;
    }
    execution.last = told?.attempt ?? execution.last;
    return giveUp(told?.failure ?? passedOver);
  };
}

/** Leaves the target alone for as long as it asks. Returns whether another attempt may follow. */
function rest(target: Target, failure: AttemptFailure, { atMostOnce }: Call): 'ends' | 'goes on' {
  if (failure.retryAfterMs !== undefined)
    target.cooldownUntilMs = performance.now() + Math.min(failure.retryAfterMs, REST_MS_MAX);
  return failure.next === 'none' || (atMostOnce && failure.sent) ? 'ends' : 'goes on';
}

type Result = Answer | AttemptFailure | OpenAiRefusal;

/** Whether another target might answer all the same: the upstream's own refusal of the request, or of the service's key. */
const refusesRequest = (result: Result): boolean =>
  result instanceof AttemptFailure
    ? result.next === 'none'
    : 'kind' in result && result.kind === 'whole' && result.status >= 400;

/** Whether the target cannot express the request: then it is passed over. */
const isUnable = (result: Result): result is OpenAiRefusal =>
  result instanceof OpenAiRefusal && result.kind === 'malformed';

/**
 * Attempts in order: the model's targets, then those of its fallbacks. Targets that fail or are in a cooldown come
 * last, and are tried once only: a last attempt is better than none. The execution stops at the first answer.
 */
export function planAttempts(model: Model, options: BalanceOptions): readonly Attempt[] {
  const [only] = model.targets;
  if (only !== undefined && model.targets.length === 1 && model.fallbacks.length === 0) {
    const { target } = only;
    return Array<Attempt>(isFit(target, options.nowMs) ? triesOf(target) : 1).fill({ model, target });
  }
  const attempts: Attempt[] = [];
  const unfit: Attempt[] = [];
  for (const each of model.candidates) {
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

const triesOf = ({ upstream }: Target): number => 1 + (upstream?.spec.retries ?? 0);

const isFit = ({ circuit, cooldownUntilMs }: Target, nowMs: number): boolean =>
  circuit.allows() && cooldownUntilMs <= nowMs;

/** The same stream; a failure in the middle of it is noted as one of its attempt. */
const reporting = (
  answer: StreamAnswer,
  made: Omit<FailedAttempt, 'failure'>,
  note: LogFailedAttempt,
): StreamAnswer => ({
  ...answer,
  end(outcome, failure) {
    answer.end(outcome);
    if (failure !== undefined) note({ ...made, failure });
  },
});

function toTargetFailure(failure: AttemptFailure | OpenAiRefusal): TargetFailure {
  const isAttempt = failure instanceof AttemptFailure;
  const { kind, message: reason, details } = isAttempt ? failure.refusal : failure;
  const status = isAttempt ? failure.status : undefined;
  return { atMs: performance.now(), kind, reason, code: details.code, status };
}

/** A target that is not tried again for this request. */
const SPENT = { isSpent: true, retryAfterMs: undefined, atMs: 0, times: 1 };

/** How a target failed this request. */
type Failed = { isSpent: boolean; retryAfterMs: number | undefined; atMs: number; times: number };

function toFailed(
  failure: AttemptFailure | OpenAiRefusal,
  atMs: number,
  earlier: Failed | undefined,
): Failed {
  const times = (earlier?.times ?? 0) + 1;
  // A full queue would still be full for an immediate retry.
  if (!(failure instanceof AttemptFailure)) return { isSpent: true, retryAfterMs: undefined, atMs, times };
  return { isSpent: failure.next === 'others', retryAfterMs: failure.retryAfterMs, atMs, times };
}

/** Waits for the retry's time. False where there is none, or where the wait would be longer than a caller should be kept. */
async function mayRetry(
  { isSpent, retryAfterMs, atMs, times }: Failed,
  signal: AbortSignal,
  random: () => number,
): Promise<boolean> {
  if (isSpent || (retryAfterMs !== undefined && retryAfterMs > RETRY_AFTER_MS_MAX)) return false;
  const pauseMs = retryAfterMs ?? random() * Math.min(BACKOFF_MS_MAX, BACKOFF_BASE_MS * 2 ** (times - 1));
  const delayMs = Math.ceil(atMs + pauseMs - performance.now());
  await sleep(delayMs, signal);
  signal.throwIfAborted();
  return true;
}

/** Failures of the upstream, its full queue, and requests that it cannot express go on to the next attempt; everything else is thrown. */
function toFailure(error: unknown): AttemptFailure | OpenAiRefusal {
  if (error instanceof AttemptFailure) return error;
  if (error instanceof OpenAiRefusal && ['unavailable', 'malformed'].includes(error.kind)) return error;
  throw error;
}

function outcomeOf(error: unknown): AttemptOutcome {
  if (!(error instanceof AttemptFailure)) return error instanceof OpenAiRefusal ? 'refused' : 'left';
  if (error.refusal.kind === 'upstream-timeout') return 'timed-out';
  return error.answer === undefined ? 'failed' : 'refused';
}

/** The upstream's own refusal where it gave one, else ours. */
function giveUp(result: Result | undefined): Answer {
  if (result instanceof AttemptFailure) {
    if (result.answer !== undefined) return result.answer;
    throw result.refusal;
  }
  if (result !== undefined && !(result instanceof Error)) return result;
  throw result ?? new OpenAiRefusal('unavailable', 'The model has no target that could be asked');
}
