// Waiting for a time, for a condition, for a promise with a time-out, or for a wake-up.

import { setTimeout as delay } from 'node:timers/promises';

/** Resolves after the time, or as soon as the signal aborts; the caller checks the signal. */
export const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  signal === undefined ? Bun.sleep(ms) : delay(ms, undefined, { signal }).catch(() => undefined);

/**
 * The outcome of the promise, or after the time-out that of `late` (which may throw). The work behind the promise is not
 * cancelled.
 */
export async function within<Value, Late>(
  promise: PromiseLike<Value>,
  timeoutMs: number,
  late: () => Late,
): Promise<Value | Late> {
  const { promise: expired, resolve: expire } = Promise.withResolvers<void>();
  const timer = setTimeout(expire, timeoutMs);
  try {
    return await Promise.race([promise, expired.then(late)]);
  } finally {
    clearTimeout(timer);
  }
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
  let waking = new AbortController();
  const wake = (): void => waking.abort();
  return {
    /** Resolves after the time, when woken, or when the signal aborts. A wake before the pause ends it at once. */
    async take(ms: number, signal?: AbortSignal): Promise<void> {
      if (signal?.aborted === true) return;
      signal?.addEventListener('abort', wake, { once: true });
      await sleep(ms, waking.signal);
      signal?.removeEventListener('abort', wake);
      waking = new AbortController();
    },
    wake,
  };
}
