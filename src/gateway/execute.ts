// The only loop: attempts in order until one answers. Nothing is tried again once a byte has gone to the client.

import { OpenAiRefusal } from '../http/openai-error.ts';
import { type Answer, AttemptFailure, type WholeAnswer } from './answer.ts';
import { type AttemptDeps, attempt, type Call } from './attempt.ts';
import { BACKOFF_BASE_MS, BACKOFF_MS_MAX, RETRY_AFTER_MS_MAX } from './limits.ts';
import type { AnswerLocally } from './local/answer.ts';
import { type Attempt, planAttempts } from './plan.ts';
import type { Catalogue, Model, Target } from './targets.ts';

export type Executed = Attempt & { answer: Answer };

export type Execute = (request: {
  catalogue: Catalogue;
  model: Model;
  call: Call;
  /** The request may reach an upstream once, whatever comes of it. */
  atMostOnce: boolean;
}) => Promise<Executed>;

export type AttemptOutcome = 'ok' | 'refused' | 'failed' | 'timed-out' | 'left';

export type ExecuteDeps = AttemptDeps & {
  answerLocally: AnswerLocally;
  /** Told of every attempt. */
  observe(target: Target, outcome: AttemptOutcome): void;
  random?: () => number;
};

/** Throws the last failure as an OpenAiRefusal, or the reason of the signal when the caller has gone. */
export function createExecute({
  answerLocally,
  observe,
  random = Math.random,
  ...deps
}: ExecuteDeps): Execute {
  const ask = async ({ target }: Attempt, call: Call): Promise<Answer> => {
    const { upstream } = target;
    if (upstream === undefined) return answerLocally(target.model, call, call.bodyFor(target));
    const place = upstream.places.take(call.signal);
    if (place !== undefined) await place;
    return attempt(target, upstream, call, deps);
  };

  return async ({ catalogue, model, call, atMostOnce }) => {
    const attempts = planAttempts(catalogue, model, { nowMs: performance.now(), random });
    let failure: AttemptFailure | OpenAiRefusal | undefined;
    let last: Attempt | undefined;
    const spent = new Set<Target>();
    for (const [index, next] of attempts.entries()) {
      if (spent.has(next.target)) continue;
      if (last?.target === next.target && failure instanceof AttemptFailure) {
        if (!(await waitBefore(index, failure, call.signal, random))) {
          spent.add(next.target);
          continue;
        }
      }
      last = next;
      try {
        const answer = await ask(next, call);
        observe(next.target, 'ok');
        return { ...next, answer };
      } catch (error) {
        observe(next.target, outcomeOf(error));
        failure = toFailure(error);
        if (failure instanceof AttemptFailure) {
          if (failure.retryAfterMs !== undefined)
            next.target.restsUntilMs = performance.now() + Math.min(failure.retryAfterMs, 60_000);
          if (failure.next === 'none' || (atMostOnce && failure.sent)) break;
          if (failure.next === 'others') spent.add(next.target);
        }
      }
    }
    return giveUp(last, failure);
  };
}

/** False where the wait would be longer than a caller should be kept. */
async function waitBefore(
  tries: number,
  { retryAfterMs }: AttemptFailure,
  signal: AbortSignal,
  random: () => number,
): Promise<boolean> {
  if (retryAfterMs !== undefined && retryAfterMs > RETRY_AFTER_MS_MAX) return false;
  const delayMs = retryAfterMs ?? random() * Math.min(BACKOFF_MS_MAX, BACKOFF_BASE_MS * 2 ** (tries - 1));
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, delayMs);
    signal.addEventListener('abort', done, { once: true });
  });
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
