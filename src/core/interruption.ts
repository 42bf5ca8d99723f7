// The end of a shutdown's time, which ends the work that still runs.

import { type ServiceError, unavailable } from './errors.ts';

/** Calls `end` with the reason when it comes, unless the function that it returns has been called before. */
export type OnInterrupt = (end: (reason: ServiceError) => void) => () => void;

/**
 * Requests enter and leave by the thousand, which a Set does for nanoseconds; an AbortSignal that lives as long as the
 * process would hold on to all that ever listened to it through `AbortSignal.any`.
 */
export function createInterruption(): { onInterrupt: OnInterrupt; interrupt(): void } {
  const running = new Set<(reason: ServiceError) => void>();
  return {
    onInterrupt(end) {
      running.add(end);
      return () => running.delete(end);
    },
    interrupt() {
      const reason = unavailable('The service is shutting down');
      for (const end of running) end(reason);
    },
  };
}
