import { randomBytes } from 'node:crypto';
import type { CachedLookup } from '../core/cached-lookup.ts';
import type { Clock } from '../core/clock.ts';
import { forbidden, unauthenticated, unavailable } from '../core/errors.ts';
import { isAdmin, type Principal } from '../core/principal.ts';
import type { Authentication } from './authentication.ts';
import { hashSecret } from './key-text.ts';
import { SESSION_SECONDS } from './limits.ts';
import { readCookie } from './session-cookie.ts';
import type { PortalSession, SessionStore } from './store/sessions.ts';
import type { UserEvents } from './user-events.ts';

export type SessionsDeps = {
  store: SessionStore;
  sessions: Pick<CachedLookup<PortalSession>, 'get' | 'drop'>;
  authentication: Pick<Authentication, 'authenticate' | 'principalOf'>;
  /** Tell of sign-ins and sign-outs. */
  events: Pick<UserEvents, 'tell' | 'tellAtOnce'>;
  clock: Clock;
};

const COOKIE_BYTES = 32;

export type Sessions = ReturnType<typeof createSessions>;

/** The portal's sessions. A session is worth what the key that opened it is worth, and ends with it. */
export function createSessions({ store, sessions, authentication, events, clock }: SessionsDeps) {
  return {
    /**
     * Opens a session and returns the cookie's value. Throws 401 for a bad key, 403 for one that may not administer, 503
     * where the sign-in could not be recorded: then there is none.
     */
    async open(key: string): Promise<string> {
      const principal = await authentication.authenticate(key);
      if (principal === undefined) throw unauthenticated('The API key is unknown, expired or revoked');
      if (!isAdmin(principal)) throw forbidden('The portal needs a key with the scope admin or operator');
      const value = randomBytes(COOKIE_BYTES).toString('base64url');
      const createdAt = clock.now();
      const expiresAt = new Date(createdAt.getTime() + SESSION_SECONDS * 1000);
      const hash = hashSecret(value);
      await store.insert({ hash, keyId: principal.keyId, expiresAt, createdAt });
      const { workspaceId, email } = principal;
      if (events.tellAtOnce('login', { workspaceId, email, provider: 'key' })) return value;
      // Its cookie is not sent: a session that cannot be deleted now cannot be used either, and expires.
      await store.delete(hash);
      throw unavailable('Sign-ins cannot be recorded at the moment');
    },

    /** Ends the session of the request's cookie, if there is one. */
    async close(request: Request): Promise<void> {
      const value = readCookie(request);
      if (value === undefined) return;
      const hash = hashSecret(value);
      const owner = await store.delete(hash);
      sessions.drop(hash);
      if (owner !== undefined) events.tell('logout', { ...owner, provider: 'key' });
    },

    /** The principal whose session the request's cookie names; undefined once it, or its key, has ended. */
    async authenticate(request: Request): Promise<Principal | undefined> {
      const value = readCookie(request);
      if (value === undefined) return undefined;
      const session = await sessions.get(hashSecret(value));
      if (session === undefined || session.expiresAt <= clock.now()) return undefined;
      return authentication.principalOf(session.keyHash);
    },
  };
}
