// The attempts of a request: their order, and the only loop over them, until one answers. Nothing is tried again once a byte has gone
// to the client.

import type { CancelSignal } from '../core/cancellation.ts';
import { sleep } from '../core/wait.ts';
import { OpenAiRefusal } from '../http/openai-error.ts';
import { type Answer, AttemptFailure, type StreamAnswer, type WholeAnswer } from './answer.ts';
import { type AttemptDeps, attempt } from './attempt.ts';
import type { FailedAttempt, LogFailedAttempt } from './attempt-log.ts';
import { type BalanceOptions, order } from './balance.ts';
import { BACKOFF_BASE_MS, BACKOFF_MS_MAX, REST_MS_MAX, RETRY_AFTER_MS_MAX } from './limits.ts';
import type { AnswerLocally } from './local/answer.ts';
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
  answerLocally: AnswerLocally;
  /** Each attempt is added. */
  attempts: AttemptCounts;
  logFailedAttempt: LogFailedAttempt;
  random?: () => number;
};

/** Throws the last failure as an OpenAiRefusal, or the reason of the signal when the caller has gone. */
export function createExecute(deps: ExecuteDeps): Execute {
  const { answerLocally, logFailedAttempt, random = Math.random } = deps;
  const noteFailure: LogFailedAttempt = (failed) => {
    failed.target.lastFailure = toTargetFailure(failed.failure);
    logFailedAttempt(failed);
  };
  const count = ({ name }: Target, outcome: AttemptOutcome): void => {
    const counts = deps.attempts.get(name) ?? {};
    deps.attempts.set(name, counts);
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  };
  return async (call, execution) => {
    let failure: AttemptFailure | OpenAiRefusal | undefined;
    let number = 0;
    let failed: Map<Target, Failed> | undefined;
    for (const next of planAttempts(execution.model, { nowMs: performance.now(), random })) {
      const { target } = next;
      const earlier = failed?.get(target);
      if (earlier !== undefined && !(await mayRetry(earlier, call.signal, random))) continue;
      execution.last = next;
      number += 1;
      const made = { target, call, number, startedAtMs: performance.now() };
      try {
        const { upstream } = target;
        const answer = await (upstream === undefined
          ? answerLocally(target.model, call)
          : attempt(target, upstream, call, deps));
        count(target, 'ok');
        return answer.kind === 'stream' ? reporting(answer, made, noteFailure) : answer;
      } catch (error) {
        count(target, outcomeOf(error));
        failure = toFailure(error);
        noteFailure({ ...made, failure });
        const nowMs = performance.now();
        failed ??= new Map();
        failed.set(target, toFailed(failure, nowMs, earlier));
        if (!(failure instanceof AttemptFailure)) continue;
        if (failure.retryAfterMs !== undefined)
          target.cooldownUntilMs = nowMs + Math.min(failure.retryAfterMs, REST_MS_MAX);
        if (failure.next === 'none' || (call.atMostOnce && failure.sent)) break;
      }
    }
    return giveUp(failure);
  };
}

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
  settle(outcome, failure) {
    answer.settle(outcome);
    if (failure !== undefined) note({ ...made, failure });
  },
});

function toTargetFailure(failure: AttemptFailure | OpenAiRefusal): TargetFailure {
  const isAttempt = failure instanceof AttemptFailure;
  const { kind, message: reason, details } = isAttempt ? failure.refusal : failure;
  const status = isAttempt ? failure.status : undefined;
  return { atMs: performance.now(), kind, reason, code: details.code, status };
}

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
  signal: CancelSignal,
  random: () => number,
): Promise<boolean> {
  if (isSpent || (retryAfterMs !== undefined && retryAfterMs > RETRY_AFTER_MS_MAX)) return false;
  const pauseMs = retryAfterMs ?? random() * Math.min(BACKOFF_MS_MAX, BACKOFF_BASE_MS * 2 ** (times - 1));
  const delayMs = Math.ceil(atMs + pauseMs - performance.now());
  await sleep(delayMs, signal);
  signal.throwIfAborted();
  return true;
}

/** Failures of the upstream, and its full queue, go on to the next attempt; everything else is thrown as it is. */
function toFailure(error: unknown): AttemptFailure | OpenAiRefusal {
  if (error instanceof AttemptFailure) return error;
  if (error instanceof OpenAiRefusal && error.kind === 'unavailable') return error;
  throw error;
}

function outcomeOf(error: unknown): AttemptOutcome {
  if (!(error instanceof AttemptFailure)) return error instanceof OpenAiRefusal ? 'refused' : 'left';
  if (error.refusal.kind === 'upstream-timeout') return 'timed-out';
  return error.answer === undefined ? 'failed' : 'refused';
}

/** The upstream's own refusal where it gave one, else ours. */
function giveUp(failure: AttemptFailure | OpenAiRefusal | undefined): WholeAnswer {
  if (failure instanceof AttemptFailure) {
    if (failure.answer !== undefined) return failure.answer;
    throw failure.refusal;
  }
  throw failure ?? new OpenAiRefusal('unavailable', 'The model has no target that could be asked');
}
