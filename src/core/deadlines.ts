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
  let size = 0;
  let ticking: ReturnType<typeof setInterval> | undefined;

  /**
   * A class, because there is one for every request: all share its functions. Those that are set are linked to a ring,
   * which allocates nothing.
   */
  class SetDeadline implements Deadline {
    dueAtMs = 0;
    next: SetDeadline | undefined;
    previous: SetDeadline | undefined;
    readonly onDue: () => void;

    constructor(onDue: () => void) {
      this.onDue = onDue;
    }

    set(delayMs: number): void {
      this.dueAtMs = now() + delayMs;
      if (this.next === undefined) this.link();
    }

    drop(): void {
      const { previous, next } = this;
      if (previous === undefined || next === undefined) return;
      previous.next = next;
      next.previous = previous;
      this.next = undefined;
      this.previous = undefined;
      size -= 1;
    }

    private link(): void {
      const last = ring.previous ?? ring;
      this.previous = last;
      this.next = ring;
      last.next = this;
      ring.previous = this;
      size += 1;
      ticking ??= setInterval(tick, TICK_MS);
    }
  }

  const ring = new SetDeadline(() => undefined);
  ring.next = ring;
  ring.previous = ring;

  const tick = (): void => {
    const nowMs = now();
    const due: SetDeadline[] = [];
    for (let each = ring.next; each !== ring && each !== undefined; each = each.next) {
      if (each.dueAtMs <= nowMs) due.push(each);
    }
    for (const deadline of due) {
      // One that came before may have moved or dropped it.
      if (deadline.next === undefined || deadline.dueAtMs > nowMs) continue;
      deadline.drop();
      deadline.onDue();
    }
    if (size > 0) return;
    clearInterval(ticking);
    ticking = undefined;
  };
  return { create: (onDue) => new SetDeadline(onDue), size: () => size };
}
