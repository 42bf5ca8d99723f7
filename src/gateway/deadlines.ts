// One timer for everything of the gateway that waits: thousands of requests set, move and drop their time-outs without
// a timer each.

import { DEADLINE_TICK_MS } from './limits.ts';

export type Deadline = {
  /** Moves it: `onDue` is called once this many milliseconds from now, unless it is moved or dropped before. */
  set(delayMs: number): void;
  drop(): void;
};

export type Deadlines = {
  create(onDue: () => void): Deadline;
  /** How many are set: for tests of what is left behind. */
  size(): number;
};

/** Deadlines are kept to within a tick (25 ms), never early. */
export function createDeadlines(now: () => number = () => performance.now()): Deadlines {
  const waiting = new Map<Deadline, { dueAt: number; onDue: () => void }>();
  let ticking: ReturnType<typeof setInterval> | undefined;
  const tick = (): void => {
    const nowMs = now();
    for (const [deadline, entry] of waiting) {
      if (entry.dueAt > nowMs) continue;
      waiting.delete(deadline);
      entry.onDue();
    }
    if (waiting.size > 0) return;
    clearInterval(ticking);
    ticking = undefined;
  };
  return {
    create(onDue) {
      const entry = { dueAt: 0, onDue };
      const deadline: Deadline = {
        set(delayMs) {
          entry.dueAt = now() + delayMs;
          waiting.set(deadline, entry);
          ticking ??= setInterval(tick, DEADLINE_TICK_MS);
        },
        drop() {
          waiting.delete(deadline);
        },
      };
      return deadline;
    },
    size: () => waiting.size,
  };
}
