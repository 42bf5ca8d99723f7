// Waiting for a time, for a condition, for a promise with a time-out, or for a wake-up.

/** Resolves after the time, or as soon as the signal aborts; the caller checks the signal. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal === undefined) return Bun.sleep(ms);
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
  });
}

/**
 * The outcome of the promise, or after the time-out that of `late` (which may throw). The work behind the promise is not
 * cancelled.
 */
export function within<Value, Late>(
  promise: PromiseLike<Value>,
  timeoutMs: number,
  late: () => Late,
): Promise<Value | Late> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      try {
        resolve(late());
      } catch (error) {
        reject(error);
      }
    }, timeoutMs);
    promise.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

/** The outcome of the promise, or a rejection with the signal's reason as soon as it aborts. No listener stays. */
export async function abortable<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Whether the promise settles within the time. Rejects when the promise does. */
export const endsWithin = (promise: Promise<unknown>, timeoutMs: number): Promise<boolean> =>
  within(
    promise.then(() => true),
    timeoutMs,
    () => false,
  );

/** Polls the condition until it holds, or until the time-out; returns whether it holds. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  { everyMs, timeoutMs = Number.POSITIVE_INFINITY }: { everyMs: number; timeoutMs?: number },
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() >= deadline) return false;
    await Bun.sleep(everyMs);
  }
  return true;
}

/** A pause that new work ends early, for one caller at a time. */
export function createPause() {
  let woken = false;
  let end = (): void => undefined;
  return {
    /** Resolves after the time, when woken, or when the signal aborts. A wake before the pause ends it at once. */
    take(ms: number, signal?: AbortSignal): Promise<void> {
      if (woken || signal?.aborted === true) {
        woken = false;
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        end = (): void => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', end);
          woken = false;
          end = () => undefined;
          resolve();
        };
        const timer = setTimeout(end, ms);
        signal?.addEventListener('abort', end, { once: true });
      });
    },
    wake(): void {
      woken = true;
      end();
    },
  };
}
