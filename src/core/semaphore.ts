import { unavailable } from './errors.ts';

/** Lets few run at a time. The others wait in order of arrival; where too many wait, or too long, the caller is refused. */
export type Semaphore = {
  /**
   * Acquires a permit, at once where one is free. Throws the refusal when as many wait as may, and rejects with it when
   * the wait gets too long; with the signal's reason when it aborts.
   */
  acquire(signal?: AbortSignal): Promise<void> | undefined;
  /** Gives a permit back, once. */
  release(): void;
  /** Runs the work with a permit. Throws as `acquire` does. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Other bounds from now on: permits that are held stay held. */
  resize(bounds: SemaphoreBounds): void;
  metrics(): { running: number; waiting: number };
};

export type SemaphoreBounds = { runningMax: number; waitingMax: number };

/**
 * @param options.waitMsMax how long one waits; without it, for as long as it takes
 * @param options.refuse what a refused caller gets: a sentence becomes 503 with `Retry-After`
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
      // At once where a permit is free: the caller may rely on what has begun.
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
