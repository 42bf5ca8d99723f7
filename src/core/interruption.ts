// The end of a shutdown's time, which ends the work that still runs.

import { type ServiceError, unavailable } from './errors.ts';

/** Calls `end` with the reason at the deadline, unless the returned function was called before. */
export type OnInterrupt = (end: (reason: ServiceError) => void) => () => void;

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
