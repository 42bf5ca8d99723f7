// The process's own view of its lease: until it expires, no other process takes over its answers.

import { ALIVE_MS } from './limits.ts';

export type Lease = {
  /** Gives a sign of life; from then on it counts as living, for a while. */
  renew(giveSign: () => Promise<void>): Promise<void>;
  /** Whether it counted as living without a break from then (performance.now) until now. */
  covers(since: number): boolean;
};

/** Goes by a clock that also counts while the process stands still. */
export function createLease(now: () => number = () => performance.now()): Lease {
  let heldSince = Number.POSITIVE_INFINITY;
  let heldUntil = Number.NEGATIVE_INFINITY;
  return {
    async renew(giveSign) {
      const sentAt = now();
      await giveSign();
      // A renewal that arrives before the previous lease expires leaves no gap.
      if (now() >= heldUntil) heldSince = sentAt;
      // The database counts from a moment after this.
      heldUntil = sentAt + ALIVE_MS;
    },
    covers: (since) => since >= heldSince && now() < heldUntil,
  };
}
