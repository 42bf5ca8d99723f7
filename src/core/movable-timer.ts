/** A timer that is moved often: one that fires too early looks again, so that moving it later costs next to nothing. */
export class MovableTimer {
  private readonly onDue: () => void;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private firesAtMs = 0;
  private dueAtMs = 0;

  constructor(onDue: () => void) {
    this.onDue = onDue;
  }

  /** Calls `onDue` at this time of the monotonic clock, in place of the earlier one. */
  moveTo(dueAtMs: number): void {
    this.dueAtMs = dueAtMs;
    if (this.timer !== undefined && this.firesAtMs <= dueAtMs) return;
    clearTimeout(this.timer);
    this.arm();
  }

  clear(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private arm(): void {
    this.firesAtMs = this.dueAtMs;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (performance.now() < this.dueAtMs) this.arm();
      else this.onDue();
    }, this.dueAtMs - performance.now());
  }
}
