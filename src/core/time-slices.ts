// Long computations on the main thread, cut into slices: what else waits for the event loop runs between two of them.

/** How long a slice may take, about. */
export const SLICE_MS = 4;

const waiting: (() => void)[] = [];

/**
 * Waits for the next slice, and returns when it ends (as performance.now() tells it). All computations of the process
 * share them: in one round of the event loop, one of them works for one slice.
 *
 * ```ts
 * let endsAt = await nextTimeSlice();
 * while (work.advance()) if (performance.now() > endsAt) endsAt = await nextTimeSlice();
 * ```
 */
export function nextTimeSlice(): Promise<number> {
  return new Promise((resolve) => {
    waiting.push(() => resolve(performance.now() + SLICE_MS));
    if (waiting.length === 1) setImmediate(giveSlice);
  });
}

function giveSlice(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(giveSlice);
}
