// A call of a tool or a read of a resource: bounded in number, ended with its request, and its failures in sentences.

import { malformed, ServiceError, toError, ValidationFailure } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { createSemaphore } from '../core/semaphore.ts';
import { abortable } from '../core/wait.ts';
import { explainOutage } from '../infra/postgres/client.ts';
import { BATCH_ANSWER_BYTES_MAX, CALLS_AT_ONCE_MAX, CALLS_WAITING_MAX } from './limits.ts';
import type { Outcome } from './metrics.ts';

/** What came of the work: its value, or a sentence for the caller. */
export type Ran<T> =
  | { outcome: 'answered'; value: T }
  | { outcome: Exclude<Outcome, 'answered'>; sentence: string };

/**
 * Runs the calls of one request, a few at a time, so that a batch costs no more at once than a few requests. Of a batch, what has not begun
 * when its answers have become too large is refused.
 */
export class CallRunner {
  readonly #log: Logger;
  readonly #requestId: string;
  readonly #isBatch: boolean;
  readonly #places = createSemaphore({
    runningMax: CALLS_AT_ONCE_MAX,
    waitingMax: CALLS_WAITING_MAX,
    refuse: 'Too many calls in one request',
  });
  #answerBytes = 0;

  constructor(log: Logger, requestId: string, isBatch: boolean) {
    this.#log = log;
    this.#requestId = requestId;
    this.#isBatch = isBatch;
  }

  async run<T>(what: string, signal: AbortSignal, work: () => Promise<T>): Promise<Ran<T>> {
    const begin = async (): Promise<T> => {
      signal.throwIfAborted();
      if (this.#answerBytes >= BATCH_ANSWER_BYTES_MAX) throw tooLargeBatch();
      const value = await work();
      if (this.#isBatch) this.#answerBytes += Buffer.byteLength(JSON.stringify(value));
      return value;
    };
    try {
      return { outcome: 'answered', value: await abortable(this.#places.run(begin), signal) };
    } catch (error) {
      return signal.aborted
        ? { outcome: 'cancelled', sentence: 'The request was cancelled' }
        : this.#explain(error, what);
    }
  }

  #explain(error: unknown, what: string): { outcome: 'refused' | 'failed'; sentence: string } {
    if (error instanceof ValidationFailure) return { outcome: 'refused', sentence: renderMistakes(error) };
    const refusal = error instanceof ServiceError ? error : explainOutage(error);
    const logged = { request_id: this.#requestId, mcp: what };
    if (refusal === undefined) {
      this.#log.error({ ...logged, err: toError(error) }, 'unexpected failure');
      return { outcome: 'failed', sentence: 'Internal Server Error' };
    }
    if (!FAILURES.has(refusal.kind)) return { outcome: 'refused', sentence: refusal.message };
    this.#log.warn({ ...logged, err: refusal.cause ?? error }, refusal.message);
    return { outcome: 'failed', sentence: refusal.message };
  }
}

const tooLargeBatch = (): ServiceError =>
  malformed(
    `The answers of this batch have reached ${BATCH_ANSWER_BYTES_MAX} bytes: send what it lacks in further requests`,
  );

const FAILURES: ReadonlySet<string> = new Set(['unavailable', 'upstream-failed', 'upstream-timeout']);

/** Places are named without the part of the request (path, query, body), because the caller has sent arguments only. */
const renderMistakes = ({ entries }: ValidationFailure): string =>
  entries
    .map(({ loc: [part, ...rest], msg }) => {
      const place = PARTS.has(String(part)) && rest.length > 0 ? rest : [part ?? [], ...rest].flat();
      return place.length === 0 ? msg : `${place.join('.')}: ${msg}`;
    })
    .join('; ');

const PARTS: ReadonlySet<string> = new Set(['path', 'query', 'body']);
