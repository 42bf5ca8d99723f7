// A line in the log for each attempt that failed, as many as an operator can read: under an outage the others are counted.

import type { Logger } from '../core/logger.ts';
import { unsampledFields } from '../core/tracing.ts';
import type { OpenAiRefusal } from '../http/openai-error.ts';
import { AttemptFailure } from './answer.ts';
import { ATTEMPT_LOG_BURST, ATTEMPT_LOG_INTERVAL_MS } from './limits.ts';
import type { Call } from './model-call.ts';
import type { Target } from './targets.ts';

export type FailedAttempt = {
  target: Target;
  call: Pick<Call, 'modelId' | 'requestId' | 'trace'>;
  /** Which attempt of its request it was, from 1. */
  number: number;
  /** Our own text: no text of an upstream is logged. */
  failure: AttemptFailure | OpenAiRefusal;
  startedAtMs: number;
};

export type LogFailedAttempt = (failed: FailedAttempt) => void;

export function createAttemptLog(
  log: Pick<Logger, 'warn'>,
  now: () => number = () => performance.now(),
): LogFailedAttempt {
  /** Until when the lines of a target are spoken for (GCRA), and how many were left out since the last. */
  const states = new WeakMap<Target, { linesAtMs: number; omitted: number }>();

  return ({ target, call, number, failure, startedAtMs }) => {
    const nowMs = now();
    const state = states.get(target) ?? { linesAtMs: nowMs, omitted: 0 };
    states.set(target, state);
    const nextAtMs = Math.max(state.linesAtMs, nowMs) + ATTEMPT_LOG_INTERVAL_MS;
    if (nextAtMs - nowMs > ATTEMPT_LOG_BURST * ATTEMPT_LOG_INTERVAL_MS) {
      state.omitted += 1;
      return;
    }
    const refusal = failure instanceof AttemptFailure ? failure.refusal : failure;
    const line = {
      target: target.name,
      model: call.modelId,
      attempt: number,
      kind: refusal.kind,
      code: refusal.details.code,
      cause: codeOf(refusal.cause),
      status: failure instanceof AttemptFailure ? failure.status : undefined,
      ms: Math.round(nowMs - startedAtMs),
      request_id: call.requestId,
      ...unsampledFields(call.trace),
      omitted: state.omitted === 0 ? undefined : state.omitted,
    };
    state.linesAtMs = nextAtMs;
    state.omitted = 0;
    log.warn(line, `an attempt at a model failed: ${refusal.message}`);
  };
}

/** Such as ConnectionRefused. */
function codeOf(cause: unknown): string | undefined {
  const code = (cause as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}
