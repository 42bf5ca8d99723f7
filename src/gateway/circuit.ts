// A target that fails again and again is left alone for a while; then one request finds out whether it is well.

import { CIRCUIT_FAILURES, CIRCUIT_OPEN_MS, CIRCUIT_OPEN_MS_MAX } from './limits.ts';

export type Circuit = {
  /** Whether it should be asked: always while closed, once in a while when open. */
  allows(): boolean;
  /** It is being asked: while half-open nobody else is let through until the outcome is known. */
  begin(): void;
  succeed(): void;
  fail(): void;
  /** The outcome says nothing of its health (a client that left, a full queue). */
  forget(): void;
  state(): 'closed' | 'open' | 'half-open';
};

/** `now`: monotonic milliseconds. */
export function createCircuit(now: () => number): Circuit {
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
      [failures, openMs, probing] = [0, 0, false];
    },
    fail() {
      failures += 1;
      probing = false;
      // Whatever was asked before it opened, or for want of anyone else, finds out nothing new.
      if (state() === 'open') return;
      if (failures < CIRCUIT_FAILURES && !isOpen()) return;
      openMs = Math.min(CIRCUIT_OPEN_MS_MAX, openMs === 0 ? CIRCUIT_OPEN_MS : openMs * 2);
      openUntilMs = now() + openMs;
    },
    forget() {
      probing = false;
    },
  };
}
