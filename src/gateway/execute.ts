// The only loop: attempts in order until one answers. Nothing is tried again once a byte has gone to the client.

import { sleep } from '../core/wait.ts';
import { OpenAiRefusal } from '../http/openai-error.ts';
import { type Answer, AttemptFailure, type StreamAnswer, type WholeAnswer } from './answer.ts';
import { type AttemptDeps, attempt } from './attempt.ts';
import type { LogFailedAttempt } from './attempt-log.ts';
import { BACKOFF_BASE_MS, BACKOFF_MS_MAX, REST_MS_MAX, RETRY_AFTER_MS_MAX } from './limits.ts';
import type { AnswerLocally } from './local/answer.ts';
import type { Call } from './model-call.ts';
import { type Attempt, planAttempts } from './plan.ts';
import type { Catalogue, Model, Target } from './targets.ts';

export type Executed = Attempt & { answer: Answer };

export type Execute = (request: {
  catalogue: Catalogue;
  model: Model;
  call: Call;
  /** Called before each attempt. */
  onAttempt(attempt: Attempt): void;
}) => Promise<Executed>;

export type AttemptOutcome = 'ok' | 'refused' | 'failed' | 'timed-out' | 'left';

export type ExecuteDeps = AttemptDeps & {
  answerLocally: AnswerLocally;
  /** Called after every attempt. */
  observe(target: Target, outcome: AttemptOutcome): void;
  logFailedAttempt: LogFailedAttempt;
  random?: () => number;
};

/** Throws the last failure as an OpenAiRefusal, or the reason of the signal when the caller has gone. */
export function createExecute({
  answerLocally,
  observe,
  logFailedAttempt,
  random = Math.random,
  ...deps
}: ExecuteDeps): Execute {
  return async ({ catalogue, model, call, onAttempt }) => {
    const attempts = planAttempts(catalogue, model, { nowMs: performance.now(), random });
    let failure: AttemptFailure | OpenAiRefusal | undefined;
    let last: Attempt | undefined;
    let number = 0;
    const failed = new Map<Target, Failed>();
    const spent = new Set<Target>();
    for (const next of attempts) {
      if (spent.has(next.target)) continue;
      const earlier = failed.get(next.target);
      if (earlier !== undefined && !(await waitBefore(earlier, call.signal, random))) {
        spent.add(next.target);
        continue;
      }
      last = next;
      number += 1;
      onAttempt(next);
      const startedAtMs = performance.now();
      try {
        const { target } = next;
        const { upstream } = target;
        const answer = await (upstream === undefined
          ? answerLocally(target.model, call)
          : attempt(target, upstream, call, deps));
        observe(target, 'ok');
        const fail = (failed: OpenAiRefusal): void =>
          logFailedAttempt({ target, call, number, failure: failed, startedAtMs });
        return { ...next, answer: answer.kind === 'stream' ? reporting(answer, fail) : answer };
      } catch (error) {
        observe(next.target, outcomeOf(error));
        failure = toFailure(error);
        logFailedAttempt({ target: next.target, call, number, failure, startedAtMs });
        // A full queue would still be full for an immediate retry.
        if (!(failure instanceof AttemptFailure) || failure.next === 'others') spent.add(next.target);
        if (!(failure instanceof AttemptFailure)) continue;
        const nowMs = performance.now();
        failed.set(next.target, {
          failure,
          atMs: nowMs,
          times: (failed.get(next.target)?.times ?? 0) + 1,
        });
        if (failure.retryAfterMs !== undefined)
          next.target.cooldownUntilMs = nowMs + Math.min(failure.retryAfterMs, REST_MS_MAX);
        if (failure.next === 'none' || (call.atMostOnce && failure.sent)) break;
      }
    }
    return giveUp(last, failure);
  };
}

/** The same stream; `fail` is called with the reason when it fails in the middle. */
const reporting = (answer: StreamAnswer, fail: (failure: OpenAiRefusal) => void): StreamAnswer => ({
  ...answer,
  settle(outcome, failure) {
    answer.settle(outcome);
    if (failure !== undefined) fail(failure);
  },
});

/** How a target failed this request. */
type Failed = { failure: AttemptFailure; atMs: number; times: number };

/** False where the wait would be longer than a caller should be kept. */
async function waitBefore(
  { failure: { retryAfterMs }, atMs, times }: Failed,
  signal: AbortSignal,
  random: () => number,
): Promise<boolean> {
  if (retryAfterMs !== undefined && retryAfterMs > RETRY_AFTER_MS_MAX) return false;
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
function giveUp(last: Attempt | undefined, failure: AttemptFailure | OpenAiRefusal | undefined): Executed {
  const answer: WholeAnswer | undefined = failure instanceof AttemptFailure ? failure.answer : undefined;
  if (last !== undefined && answer !== undefined) return { ...last, answer };
  if (failure instanceof AttemptFailure) throw failure.refusal;
  throw failure ?? new OpenAiRefusal('unavailable', 'The model has no target that could be asked');
}
