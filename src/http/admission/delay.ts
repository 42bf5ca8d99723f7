// How long a request may wait: a line that empties again and again is a burst, and bursts are served; a line that stays is overload,
// and then what has waited too long is refused, so that the rest is answered in time (CoDel's idea, Nichols and Jacobson 2012,
// in the form for requests, which has no rate of drops).

export type DelayBounds = {
  /** The longest wait in a burst. */
  burstMs: number;
  /** The longest wait during overload. */
  overloadMs: number;
  /** A line that has not been empty for so long is overload. */
  standingMs: number;
};

export const DELAY: DelayBounds = { burstMs: 5000, overloadMs: 250, standingMs: 1000 };

export function createDelay({ burstMs, overloadMs, standingMs }: DelayBounds) {
  let standingSinceMs: number | undefined;
  return {
    /** To be told whenever the line may have changed. */
    note(waiting: number, nowMs: number): void {
      if (waiting === 0) standingSinceMs = undefined;
      else standingSinceMs ??= nowMs;
    },
    /** The longest wait now. */
    allowedMs: (nowMs: number): number =>
      standingSinceMs !== undefined && nowMs - standingSinceMs >= standingMs ? overloadMs : burstMs,
  };
}
