// What all ways of signing in have in common: a key, or a person, does so only so often, each failure delays the answer to the next
// one, and the audit log has it.

import { type RequestOrigin, SERVICE } from '../core/author.ts';
import { tooManyRequests } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { sleep } from '../core/wait.ts';
import {
  REFUSED_SIGN_INS_PER_MINUTE,
  SIGN_IN_DELAY_MS,
  SIGN_IN_DELAY_MS_MAX,
  SIGN_IN_DELAYS_MAX,
  SIGN_IN_FAILURES_SECONDS,
  SIGN_INS_AT_ONCE,
  SIGN_INS_PER_MINUTE,
} from './limits.ts';
import type { SessionStore } from './store/sessions.ts';

export type RefusedSignIn = {
  via: 'key' | 'sign-on';
  reason: string;
  /** Of the key that was sent, in hexadecimal: the row then belongs to its workspace, if there is one. */
  keyHash?: string;
};

export type SignIns = ReturnType<typeof createSignIns>;

export function createSignIns({ store, log }: { store: SessionStore; log: Logger }) {
  const accepted = createTokenBuckets({ burst: SIGN_INS_AT_ONCE, perMinute: SIGN_INS_PER_MINUTE });
  const refused = createTokenBuckets({
    burst: REFUSED_SIGN_INS_PER_MINUTE,
    perMinute: REFUSED_SIGN_INS_PER_MINUTE,
  });
  /** Failures since the last row that have none of their own: a flood of them fills no disk. */
  let omitted = 0;

  return {
    /** Throws 429 where the key, or the person, has signed in too often. */
    count(who: string): void {
      const retryAfterSeconds = accepted.take(who);
      if (retryAfterSeconds === undefined) return;
      throw tooManyRequests('Too many sign-ins: try again later', { retryAfterSeconds });
    },

    /** Writes a row of the audit log. Where that fails, the log says so. */
    async noteRefusal({ via, reason, keyHash = '' }: RefusedSignIn, origin: RequestOrigin): Promise<void> {
      if (refused.take('') !== undefined) {
        omitted += 1;
        return;
      }
      const state = { reason, ...(omitted === 0 ? {} : { omitted }) };
      omitted = 0;
      try {
        await store.noteRefusal({ keyHash, state }, { ...SERVICE, ...origin, actor: 'nobody', via });
      } catch (error) {
        log.warn({ err: error, reason }, 'a refused sign-in could not be written to the audit log');
      }
    },
  };
}

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

/** Names that are remembered. Those whose bucket is full again are forgotten first. */
const NAMES_MAX = 10_000;

type Bucket = { tokens: number; atMs: number };

/** So many acts of one name at once, and so many a minute after that. Each process counts by itself. `now`: monotonic milliseconds. */
export function createTokenBuckets({
  burst,
  perMinute,
  now = () => performance.now(),
}: {
  burst: number;
  perMinute: number;
  now?: () => number;
}) {
  const buckets = new Map<string, Bucket>();
  const perMs = perMinute / 60_000;
  const fill = ({ tokens, atMs }: Bucket): number => Math.min(burst, tokens + (now() - atMs) * perMs);
  const forgetFull = (): void => {
    for (const [name, bucket] of buckets) if (fill(bucket) >= burst) buckets.delete(name);
  };
  return {
    /** Takes a token; else returns the seconds until there is one. */
    take(name: string): number | undefined {
      if (buckets.size >= NAMES_MAX) forgetFull();
      const tokens = fill(buckets.get(name) ?? { tokens: burst, atMs: now() });
      if (tokens < 1) return Math.ceil((1 - tokens) / perMs / 1000);
      buckets.set(name, { tokens: tokens - 1, atMs: now() });
      return undefined;
    },
  };
}
