import { tooManyRequests } from '../core/errors.ts';
import { sleep } from '../core/wait.ts';
import {
  SIGN_IN_DELAY_MS,
  SIGN_IN_DELAY_MS_MAX,
  SIGN_IN_DELAYS_MAX,
  SIGN_IN_FAILURES_SECONDS,
} from './limits.ts';

export type SignInDelay = ReturnType<typeof createSignInDelay>;

/**
 * Slows down the guessing of keys and links: each failed sign-in of a process delays the answer to the next one, twice as
 * long each time. Valid sign-ins are never delayed. `now`: monotonic milliseconds.
 */
export function createSignInDelay({ wait = sleep, now = () => performance.now() } = {}) {
  let failures = 0;
  let lastAt = Number.NEGATIVE_INFINITY;
  let waiting = 0;
  return {
    /** Waits before a failure is answered. Throws 429 when too many failures wait already. */
    async afterFailure(): Promise<void> {
      if (now() - lastAt > SIGN_IN_FAILURES_SECONDS * 1000) failures = 0;
      lastAt = now();
      const delayMs = Math.min(SIGN_IN_DELAY_MS * 2 ** failures, SIGN_IN_DELAY_MS_MAX);
      failures++;
      if (waiting >= SIGN_IN_DELAYS_MAX) {
        throw tooManyRequests('Too many sign-ins have failed: try again later', {
          retryAfterSeconds: SIGN_IN_FAILURES_SECONDS,
        });
      }
      waiting++;
      await wait(delayMs).finally(() => {
        waiting--;
      });
    },
  };
}
