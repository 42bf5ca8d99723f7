// How many requests an upstream is asked at once, and the short queue before it.

import { OpenAiRefusal } from '../http/openai-error.ts';
import { QUEUE_WAIT_MS_MAX } from './limits.ts';

export type Places = {
  /**
   * Takes a place; at once where one is free. Throws 503 when as many wait as may, or the wait gets too long; the
   * signal's reason when it aborts.
   */
  take(signal: AbortSignal): Promise<void> | undefined;
  /** Gives it back, once. */
  give(): void;
  resize(bounds: { max: number; queue: number }): void;
  figures(): { running: number; waiting: number };
};

export function createPlaces(initial: { max: number; queue: number }): Places {
  let bounds = initial;
  let running = 0;
  const waiting = new Set<() => void>();
  const refusal = () =>
    new OpenAiRefusal('unavailable', 'Too many requests wait for the model', { retryAfterSeconds: 2 });

  /** As many of those who wait as there are places. */
  const admit = (): void => {
    for (const next of waiting) {
      if (running >= bounds.max) return;
      waiting.delete(next);
      running += 1;
      next();
    }
  };
  return {
    take(signal) {
      if (running < bounds.max) {
        running += 1;
        return undefined;
      }
      if (waiting.size >= bounds.queue) throw refusal();
      signal.throwIfAborted();
      return new Promise((resolve, reject) => {
        const settle = (): void => {
          waiting.delete(enter);
          clearTimeout(timer);
          signal.removeEventListener('abort', onAbort);
        };
        const leave = (reason: unknown): void => {
          settle();
          reject(reason);
        };
        const timer = setTimeout(() => leave(refusal()), QUEUE_WAIT_MS_MAX);
        const onAbort = () => leave(signal.reason);
        const enter = (): void => {
          settle();
          resolve();
        };
        signal.addEventListener('abort', onAbort, { once: true });
        waiting.add(enter);
      });
    },
    give() {
      running -= 1;
      admit();
    },
    resize(next) {
      bounds = next;
      admit();
    },
    figures: () => ({ running, waiting: waiting.size }),
  };
}
