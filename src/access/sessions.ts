import { randomBytes } from 'node:crypto';
import { type RequestOrigin, SERVICE } from '../core/author.ts';
import type { CachedLookup } from '../core/cached-lookup.ts';
import type { Clock } from '../core/clock.ts';
import { forbidden, unauthenticated } from '../core/errors.ts';
import type { WakeEventMover } from '../core/event.ts';
import { isAdmin, type Principal } from '../core/principal.ts';
import type { Authentication } from './authentication.ts';
import { hashSecret } from './key-text.ts';
import { SESSION_SECONDS } from './limits.ts';
import { readCookie } from './session-cookie.ts';
import type { PortalSession, SessionStore } from './store/sessions.ts';

export type SessionsDeps = {
  store: SessionStore;
  sessions: Pick<CachedLookup<PortalSession>, 'get' | 'drop'>;
  authentication: Pick<Authentication, 'authenticate' | 'principalOf'>;
  wakeMover: WakeEventMover;
  clock: Clock;
};

const COOKIE_BYTES = 32;

export type Sessions = ReturnType<typeof createSessions>;

/** The portal's sessions. A session has the scopes of the key that opened it, and ends with it. */
export function createSessions({ store, sessions, authentication, wakeMover, clock }: SessionsDeps) {
  return {
    /** Opens a session and returns the cookie's value. Throws 401 for an invalid key, 403 for one that may not administer. */
    async open(key: string, origin: RequestOrigin): Promise<string> {
      const principal = await authentication.authenticate(key);
      if (principal === undefined) throw keyRefused();
      if (!isAdmin(principal)) throw forbidden('The portal needs a key with the scope admin or operator');
      const value = randomBytes(COOKIE_BYTES).toString('base64url');
      const createdAt = clock.now();
      const expiresAt = new Date(createdAt.getTime() + SESSION_SECONDS * 1000);
      const session = { hash: hashSecret(value), keyId: principal.keyId, expiresAt, createdAt };
      if (!(await store.insert(session, { ...SERVICE, ...origin, via: 'key' }))) throw keyRefused();
      wakeMover();
      return value;
    },

    /** Ends the session of the request's cookie, if there is one. */
    async close(request: Request, origin: RequestOrigin): Promise<void> {
      const value = readCookie(request);
      if (value === undefined) return;
      const hash = hashSecret(value);
      await store.delete(hash, { ...SERVICE, ...origin, via: 'session' });
      sessions.drop(hash);
      wakeMover();
    },

    /** The principal whose session the request's cookie names; undefined once it, or its key, has ended. */
    async authenticate(request: Request): Promise<Principal | undefined> {
      const value = readCookie(request);
      if (value === undefined) return undefined;
      const session = await sessions.get(hashSecret(value));
      if (session === undefined || session.expiresAt <= clock.now()) return undefined;
      const principal: Principal | undefined = await authentication.principalOf(session.keyHash);
      return principal && inSession(principal);
    },
  };
}

const inSession = (principal: Principal): Principal => ({ ...principal, via: 'session' });

const keyRefused = () => unauthenticated('The API key is unknown, expired or revoked');
