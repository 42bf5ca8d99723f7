// What all ways of signing in have in common: a key, or a person, does so only so often, and the audit log has each failure.

import { type RequestOrigin, SERVICE } from '../core/author.ts';
import { tooManyRequests } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { REFUSED_SIGN_INS_PER_MINUTE, SIGN_INS_AT_ONCE, SIGN_INS_PER_MINUTE } from './limits.ts';
import type { SessionStore } from './store/sessions.ts';
import { createTokenBuckets } from './token-buckets.ts';

export type RefusedSignIn = {
  via: 'key' | 'sign-on';
  reason: string;
  /** Of the key that was sent, in hexadecimal: the row then belongs to its workspace, if there is one. */
  keyHash?: string;
};

export type SignIns = ReturnType<typeof createSignIns>;

export function createSignIns({ store, log }: { store: Pick<SessionStore, 'noteRefusal'>; log: Logger }) {
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
