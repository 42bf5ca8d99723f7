// How long a request may wait: a line that becomes short again and again is a burst, and bursts are served; a line that stays long is
// overload, and then what has waited too long is refused, so that the rest is answered in time (CoDel's idea, Nichols and Jacobson
// 2012, in the form for requests, which has no rate of drops).

export type DelayBounds = {
  /** The longest wait in a burst. */
  burstMs: number;
  /** The longest wait during overload. */
  overloadMs: number;
  /** A line that has not been short for so long is overload. */
  standingMs: number;
  /** So many that wait are no overload, however long they do: on a machine whose processor others use, a few callers wait, too. */
  shortLine: number;
};

export const DELAY: DelayBounds = {
  burstMs: 5000,
  overloadMs: 250,
  standingMs: 5000,
  shortLine: 64,
};

export function createDelay({ burstMs, overloadMs, standingMs, shortLine }: DelayBounds) {
  let standingSinceMs: number | undefined;
  return {
    /** To be told whenever the line may have changed. */
    note(waiting: number, nowMs: number): void {
      if (waiting <= shortLine) standingSinceMs = undefined;
      else standingSinceMs ??= nowMs;
    },
    /** The longest wait now. */
    allowedMs: (nowMs: number): number =>
      standingSinceMs !== undefined && nowMs - standingSinceMs >= standingMs ? overloadMs : burstMs,
  };
}
