// A line in the log for each attempt that failed, as many as an operator can read: under an outage the others are counted.

import type { Logger } from '../core/logger.ts';
import { unsampledFields } from '../core/tracing.ts';
import type { OpenAiRefusal } from '../http/openai-error.ts';
import { AttemptFailure } from './answer.ts';
import type { ModelCall } from './model-call.ts';
import type { Target } from './targets.ts';

/** Lines about a target in one period. */
const LINES_MAX = 10;
const PERIOD_MS = 20_000;

export type FailedAttempt = {
  target: Target;
  call: Pick<ModelCall, 'modelId' | 'requestId' | 'trace'>;
  /** Which attempt of its request it was, from 1. */
  number: number;
  startedAtMs: number;
};

export class AttemptLog {
  private readonly log: Pick<Logger, 'warn'>;

  constructor(log: Pick<Logger, 'warn'>) {
    this.log = log;
  }

  /** Keeps the failure as the last one of its target, and logs it unless there are too many of it. */
  note({ target, call, number, startedAtMs }: FailedAttempt, failure: AttemptFailure | OpenAiRefusal): void {
    const nowMs = performance.now();
    const { kind, message, details, cause } = failure instanceof AttemptFailure ? failure.refusal : failure;
    const status = failure instanceof AttemptFailure ? failure.status : undefined;
    target.lastFailure = { atMs: nowMs, kind, reason: message, code: details.code, status };
    const { logged } = target;
    if (nowMs - logged.sinceMs > PERIOD_MS) Object.assign(logged, { sinceMs: nowMs, lines: 0 });
    logged.lines += 1;
    if (logged.lines > LINES_MAX) {
      logged.omitted += 1;
      return;
    }
    const line = {
      target: target.name,
      model: call.modelId,
      attempt: number,
      kind,
      code: details.code,
      // Such as ConnectionRefused.
      cause: (cause as { code?: unknown } | null | undefined)?.code,
      status,
      ms: Math.round(nowMs - startedAtMs),
      request_id: call.requestId,
      ...unsampledFields(call.trace),
      omitted: logged.omitted === 0 ? undefined : logged.omitted,
    };
    logged.omitted = 0;
    this.log.warn(line, `an attempt at a model failed: ${message}`);
  }
}
