// Time slices for long computations on the main thread: other work of the event loop runs between two of them.

/** Approximate duration of a slice. */
export const SLICE_MS = 4;

const waiting: (() => void)[] = [];

/**
 * Waits for the next slice, and returns its end on the scale of performance.now(). All computations of the process share the
 * slices: one of them runs for one slice in each round of the event loop.
 *
 * ```ts
 * let endsAt = await nextTimeSlice();
 * while (work.advance()) if (performance.now() > endsAt) endsAt = await nextTimeSlice();
 * ```
 */
export const nextTimeSlice = (): Promise<number> =>
  new Promise((resolve) => {
    waiting.push(() => resolve(performance.now() + SLICE_MS));
    if (waiting.length === 1) setImmediate(startSlice);
  });

/** Runs a computation to its end, in slices that end where it yields. Rejects with the signal's reason when it aborts. */
export async function inSlices<T>(steps: Generator<void, T>, signal?: AbortSignal): Promise<T> {
  let endsAt = performance.now() + SLICE_MS;
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (performance.now() <= endsAt) continue;
    endsAt = await nextTimeSlice();
    signal?.throwIfAborted();
  }
}

function startSlice(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(startSlice);
}

/**
 * For work that is divided into small steps: the returned function waits for the next slice if the current one is over.
 *
 * ```ts
 * const pause = createPauses();
 * for (const step of steps) {
 *   await pause();
 *   step();
 * }
 * ```
 */
export function createPauses(): () => Promise<void> {
  let endsAt = performance.now() + SLICE_MS;
  return async () => {
    if (performance.now() > endsAt) endsAt = await nextTimeSlice();
  };
}
