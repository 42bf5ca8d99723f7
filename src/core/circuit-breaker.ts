/**
 * Leaves alone what fails again and again: after failures in a row it opens for a while, then lets one attempt find out
 * (half-open); each failed one doubles the while (Nygard, "Release It!").
 */
export type CircuitBreaker = {
  /** Whether an attempt may be made: always while closed, one at a time while half-open. */
  allows(): boolean;
  /** An attempt begins: while half-open no other is let through until its outcome is known. */
  begin(): void;
  succeed(): void;
  fail(): void;
  /** The outcome says nothing of the other side's health. */
  forget(): void;
  state(): 'closed' | 'open' | 'half-open';
};

/**
 * @param options.failuresMax failures in a row that open it
 * @param options.openMsMin for how long at first, in milliseconds
 * @param options.openMsMax for how long at most
 * @param options.now monotonic milliseconds
 */
export function createCircuitBreaker(options: {
  failuresMax: number;
  openMsMin: number;
  openMsMax: number;
  now: () => number;
}): CircuitBreaker {
  const { failuresMax, openMsMin, openMsMax, now } = options;
  let failures = 0;
  let openMs = 0;
  let openUntilMs = 0;
  let probing = false;
  const isOpen = () => openMs > 0;
  const state = () => {
    if (!isOpen()) return 'closed';
    return now() < openUntilMs ? 'open' : 'half-open';
  };
  return {
    state,
    allows: () => !isOpen() || (state() === 'half-open' && !probing),
    begin() {
      if (isOpen()) probing = true;
    },
    succeed() {
      failures = 0;
      openMs = 0;
      probing = false;
    },
    fail() {
      failures += 1;
      probing = false;
      // An attempt that began before it opened, or that was made in spite of it, finds out nothing new.
      if (state() === 'open') return;
      if (failures < failuresMax && !isOpen()) return;
      openMs = Math.min(openMsMax, openMs === 0 ? openMsMin : openMs * 2);
      openUntilMs = now() + openMs;
    },
    forget() {
      probing = false;
    },
  };
}
