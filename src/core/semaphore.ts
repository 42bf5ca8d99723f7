import { unavailable } from './errors.ts';

export type SemaphoreBounds = { runningMax: number; waitingMax: number };

type SemaphoreOptions = SemaphoreBounds & {
  /** The longest wait; without it, a wait has no time-out. */
  waitMsMax?: number | undefined;
  /** The error of a refused caller; a sentence becomes 503 with `Retry-After`. */
  refuse: string | ((why: 'full' | 'late') => Error);
};

/** Limits concurrent work. Callers beyond the limit wait in order of arrival; if too many wait, or too long, they are refused. */
export class Semaphore {
  private readonly options: SemaphoreOptions;
  private bounds: SemaphoreBounds;
  private running = 0;
  private readonly waiting = new Set<() => void>();

  constructor(options: SemaphoreOptions) {
    this.options = options;
    this.bounds = options;
  }

  /**
   * Acquires a permit. Rejects with the refusal when the queue is full and after the longest wait, and with the signal's reason when it
   * aborts.
   */
  async acquire(signal?: AbortSignal): Promise<void> {
    if (this.running < this.bounds.runningMax) {
      this.running += 1;
      return;
    }
    if (this.waiting.size >= this.bounds.waitingMax) throw this.refusal('full');
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { waitMsMax } = this.options;
    const leave = (reason: unknown): void => {
      // At once, so that no permit is given to a caller that has gone.
      this.waiting.delete(resolve);
      reject(reason);
    };
    const onAbort = (): void => leave(signal?.reason);
    const timer =
      waitMsMax === undefined ? undefined : setTimeout(() => leave(this.refusal('late')), waitMsMax);
    signal?.addEventListener('abort', onAbort, { once: true });
    this.waiting.add(resolve);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Returns a permit; to be called once for each. */
  release(): void {
    this.running -= 1;
    this.admit();
  }

  /** Runs the work with a permit. Rejects as `acquire` does. */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.acquire(signal);
    try {
      return await work();
    } finally {
      this.release();
    }
  }

  /** Changes the bounds; permits that are held are not revoked. */
  resize(bounds: SemaphoreBounds): void {
    this.bounds = bounds;
    this.admit();
  }

  metrics(): { running: number; waiting: number } {
    return { running: this.running, waiting: this.waiting.size };
  }

  private admit(): void {
    for (const enter of this.waiting) {
      if (this.running >= this.bounds.runningMax) return;
      this.waiting.delete(enter);
      this.running += 1;
      enter();
    }
  }

  private refusal(why: 'full' | 'late'): Error {
    const { refuse } = this.options;
    return typeof refuse === 'string' ? unavailable(refuse) : refuse(why);
  }
}

export const createSemaphore = (options: SemaphoreOptions): Semaphore => new Semaphore(options);

/**
 * Shares a semaphore among owners: each has bounds of its own, so that however much it sends, only as much of that as it may run
 * at once waits in front of the work of others. The returned function runs work when it is its owner's turn, and rejects as both
 * semaphores do.
 */
export function shareAmongOwners(all: Semaphore, bounds: SemaphoreOptions) {
  const owners = new Map<string, Semaphore>();
  return async <T>(owner: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
    const own = owners.get(owner) ?? createSemaphore(bounds);
    owners.set(owner, own);
    try {
      return await own.run(() => all.run(work, signal), signal);
    } finally {
      const { running, waiting } = own.metrics();
      if (running + waiting === 0) owners.delete(owner);
    }
  };
}
