// The end of a shutdown's time, which ends the work that still runs.

import { type ServiceError, unavailable } from './errors.ts';
import { Ring } from './ring.ts';

/** Calls `end` with the reason at the deadline, unless the returned function was called before. */
export type OnInterrupt = (end: (reason: ServiceError) => void) => () => void;

/**
 * Every request subscribes and unsubscribes, which costs nanoseconds with a ring. An AbortSignal that lives as long as the
 * process would retain all signals that were derived from it by `AbortSignal.any`.
 */
export function createInterruption(): { onInterrupt: OnInterrupt; interrupt(): void } {
  const running = new Ring<(reason: ServiceError) => void>();
  return {
    onInterrupt(end) {
      const link = running.add(end);
      return () => running.remove(link);
    },
    interrupt() {
      const reason = unavailable('The service is shutting down');
      for (const end of running.items()) end(reason);
    },
  };
}
