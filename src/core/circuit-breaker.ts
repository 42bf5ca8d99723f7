/**
 * Stops attempts that would fail: after consecutive failures it opens for a cooldown, and then allows one trial (half-open);
 * each failed trial doubles the cooldown (Nygard, "Release It!").
 * @param options.failuresMax consecutive failures that open it
 * @param options.openMsMin the first cooldown, in milliseconds
 * @param options.openMsMax the longest cooldown
 * @param options.now monotonic milliseconds
 */
export function createCircuitBreaker(options: {
  failuresMax: number;
  openMsMin: number;
  openMsMax: number;
  now: () => number;
}) {
  const { failuresMax, openMsMin, openMsMax, now } = options;
  let failures = 0;
  let openMs = 0;
  let openUntilMs = 0;
  let trialRunning = false;
  let changedAtMs = now();
  const isOpen = () => openMs > 0;
  const state = (): 'closed' | 'open' | 'half-open' => {
    if (!isOpen()) return 'closed';
    return now() < openUntilMs ? 'open' : 'half-open';
  };
  return {
    state,
    /** When it came into this state, as `now` counts. */
    sinceMs: () => (state() === 'half-open' ? openUntilMs : changedAtMs),
    /** Whether an attempt may be made: always while closed, one at a time while half-open. */
    allows: () => !isOpen() || (state() === 'half-open' && !trialRunning),
    /** Marks the begin of an attempt: while half-open, no other is allowed until its outcome is known. */
    begin() {
      if (isOpen()) trialRunning = true;
    },
    succeed() {
      if (isOpen()) changedAtMs = now();
      failures = 0;
      openMs = 0;
      trialRunning = false;
    },
    fail() {
      failures += 1;
      trialRunning = false;
      // An attempt that began before the breaker opened, or that ignored it, does not extend the cooldown.
      if (state() === 'open') return;
      if (failures < failuresMax && !isOpen()) return;
      openMs = Math.min(openMsMax, openMs === 0 ? openMsMin : openMs * 2);
      changedAtMs = now();
      openUntilMs = changedAtMs + openMs;
    },
    /** Ends an attempt whose outcome does not depend on the other side's health. */
    forget() {
      trialRunning = false;
    },
  };
}
