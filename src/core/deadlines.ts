// One timer for all that wait: thousands of requests set, move and drop their time-outs without a timer each.

const TICK_MS = 25;

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
  const add = (deadline: SetDeadline, delayMs: number): void => {
    deadline.dueAtMs = now() + delayMs;
    waiting.add(deadline);
    ticking ??= setInterval(tick, TICK_MS);
  };
  const remove = (deadline: SetDeadline): void => {
    waiting.delete(deadline);
  };
  return {
    create: (onDue) => new SetDeadline(onDue, add, remove),
    size: () => waiting.size,
  };
}

/** A class, because one is made for every request: its functions are shared. */
class SetDeadline implements Deadline {
  dueAtMs = 0;
  readonly onDue: () => void;
  private readonly add: (deadline: SetDeadline, delayMs: number) => void;
  private readonly remove: (deadline: SetDeadline) => void;

  constructor(
    onDue: () => void,
    add: (deadline: SetDeadline, delayMs: number) => void,
    remove: (deadline: SetDeadline) => void,
  ) {
    this.onDue = onDue;
    this.add = add;
    this.remove = remove;
  }

  set(delayMs: number): void {
    this.add(this, delayMs);
  }

  drop(): void {
    this.remove(this);
  }
}
