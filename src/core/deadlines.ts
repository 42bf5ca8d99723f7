// One timer for all time-outs: thousands of requests set, move and drop theirs without a timer each.

const TICK_MS = 25;

export type Deadline = {
  /** Moves it: `onDue` is called once this many milliseconds from now, unless it is moved or dropped before. */
  set(delayMs: number): void;
  drop(): void;
};

export type Deadlines = {
  create(onDue: () => void): Deadline;
  /** How many are set, for tests that none is left behind. */
  size(): number;
};

/** Deadlines are kept to within a tick (25 ms), never early. */
export function createDeadlines(now: () => number = () => performance.now()): Deadlines {
  const waiting = new Set<SetDeadline>();
  let ticking: ReturnType<typeof setInterval> | undefined;
  const tick = (): void => {
    const nowMs = now();
    for (const deadline of waiting) {
      if (deadline.dueAtMs > nowMs) continue;
      waiting.delete(deadline);
      deadline.onDue();
    }
    if (waiting.size > 0) return;
    clearInterval(ticking);
    ticking = undefined;
  };

  /** A class, because there is one for every request: all share its functions. */
  class SetDeadline implements Deadline {
    dueAtMs = 0;
    readonly onDue: () => void;

    constructor(onDue: () => void) {
      this.onDue = onDue;
    }

    set(delayMs: number): void {
      this.dueAtMs = now() + delayMs;
      waiting.add(this);
      ticking ??= setInterval(tick, TICK_MS);
    }

    drop(): void {
      waiting.delete(this);
    }
  }
  return { create: (onDue) => new SetDeadline(onDue), size: () => waiting.size };
}
