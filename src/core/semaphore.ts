import { unavailable } from './errors.ts';

/** Limits concurrent work. Callers beyond the limit wait in order of arrival; if too many wait, or too long, they are refused. */
export type Semaphore = {
  /**
   * Acquires a permit, without a promise where one is free. Throws the refusal when the queue is full, and rejects with it
   * after the longest wait; with the signal's reason when it aborts.
   */
  acquire(signal?: AbortSignal): Promise<void> | undefined;
  /** Returns a permit; to be called once for each. */
  release(): void;
  /** Runs the work with a permit. Throws as `acquire` does. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Changes the bounds; permits that are held are not revoked. */
  resize(bounds: SemaphoreBounds): void;
  metrics(): { running: number; waiting: number };
};

export type SemaphoreBounds = { runningMax: number; waitingMax: number };

/**
 * @param options.waitMsMax the longest wait; without it, a wait has no time-out
 * @param options.refuse the error of a refused caller; a sentence becomes 503 with `Retry-After`
 */
export function createSemaphore(
  options: SemaphoreBounds & { waitMsMax?: number; refuse: string | (() => Error) },
): Semaphore {
  const { waitMsMax, refuse } = options;
  let bounds: SemaphoreBounds = options;
  let running = 0;
  const waiting = new Set<() => void>();
  const refusal = (): Error => (typeof refuse === 'string' ? unavailable(refuse) : refuse());

  const admit = (): void => {
    for (const enter of waiting) {
      if (running >= bounds.runningMax) return;
      waiting.delete(enter);
      running += 1;
      enter();
    }
  };
  const acquire = (signal?: AbortSignal): Promise<void> | undefined => {
    if (running < bounds.runningMax) {
      running += 1;
      return undefined;
    }
    if (waiting.size >= bounds.waitingMax) throw refusal();
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        waiting.delete(enter);
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
      const leave = (reason: unknown): void => {
        settle();
        reject(reason);
      };
      const timer = waitMsMax === undefined ? undefined : setTimeout(() => leave(refusal()), waitMsMax);
      const onAbort = (): void => leave(signal?.reason);
      const enter = (): void => {
        settle();
        resolve();
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      waiting.add(enter);
    });
  };
  const release = (): void => {
    running -= 1;
    admit();
  };
  return {
    acquire,
    release,
    async run(work) {
      // Without an await where a permit is free, because callers rely on a synchronous start.
      const wait = acquire();
      if (wait !== undefined) await wait;
      try {
        return await work();
      } finally {
        release();
      }
    },
    resize(next) {
      bounds = next;
      admit();
    },
    metrics: () => ({ running, waiting: waiting.size }),
  };
}
