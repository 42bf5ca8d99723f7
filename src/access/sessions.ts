import { randomBytes } from 'node:crypto';
import { type Author, type RequestOrigin, SERVICE } from '../core/author.ts';
import type { CachedLookup } from '../core/cached-lookup.ts';
import type { Clock } from '../core/clock.ts';
import { notFound, unauthenticated } from '../core/errors.ts';
import type { WakeEventMover } from '../core/event.ts';
import type { Principal } from '../core/principal.ts';
import { type Page, type PageRequest, toPage } from '../http/paging.ts';
import type { Authentication } from './authentication.ts';
import { hashSecret } from './key-text.ts';
import { LINK_SECONDS, SESSION_SECONDS, USER_AGENT_LENGTH_MAX } from './limits.ts';
import { type Caller, refuseUnlessOperator } from './operators.ts';
import type { PortalSessionRead } from './portal-schema.ts';
import { readCookie, refuseOtherSite } from './session-cookie.ts';
import type { SignInDelay } from './sign-in-delay.ts';
import type { RefusedSignIn, SignIns } from './sign-ins.ts';
import type { ListedSession, NewSession, PortalSession, SessionStore } from './store/sessions.ts';

export type SessionsDeps = {
  store: SessionStore;
  /** Throws 404 for a workspace that does not exist. */
  requireWorkspace(id: string): Promise<void>;
  sessions: Pick<CachedLookup<PortalSession>, 'get' | 'drop'>;
  authentication: Pick<Authentication, 'authenticate' | 'principalOf'>;
  delay: SignInDelay;
  signIns: SignIns;
  wakeMover: WakeEventMover;
  clock: Clock;
};

const SECRET_BYTES = 32;

/** The value of a cookie, or the secret of a link: 43 characters of base64url. */
const createSecret = (): string => randomBytes(SECRET_BYTES).toString('base64url');

/** A one-time link to the portal as its secret, and the row that is kept of it. */
export function createLink(keyId: string, now: Date) {
  const secret = createSecret();
  const expiresAt = new Date(now.getTime() + LINK_SECONDS * 1000);
  return { secret, row: { hash: hashSecret(secret), keyId, expiresAt } };
}

/** A session as the value of its cookie, and the row that is kept of it. */
export function createSession(
  request: Request,
  createdAt: Date,
  seconds: number,
): { value: string; session: NewSession } {
  const value = createSecret();
  const expiresAt = new Date(createdAt.getTime() + seconds * 1000);
  const userAgent = request.headers.get('user-agent')?.slice(0, USER_AGENT_LENGTH_MAX) ?? null;
  return { value, session: { hash: hashSecret(value), userAgent, expiresAt, createdAt } };
}

/** A request without a credential that the service knows, and what it says about its author. */
type SignIn = { request: Request; origin: RequestOrigin };

export type Sessions = ReturnType<typeof createSessions>;

/** The portal's sessions. A session has the scopes of the key that opened it, and ends with it. */
export function createSessions(deps: SessionsDeps) {
  const { store, requireWorkspace, sessions, authentication, delay, signIns, wakeMover, clock } = deps;

  /** `insert` keeps the session, and says whether there was what it opens it with. */
  const open = async (
    { request, origin }: SignIn,
    insert: (session: NewSession, author: Author) => Promise<boolean>,
  ) => {
    const { value, session } = createSession(request, clock.now(), SESSION_SECONDS);
    const opened = await insert(session, { ...SERVICE, ...origin, via: 'key' });
    if (opened) wakeMover();
    return opened ? value : undefined;
  };

  /** Throws 401. */
  const fail = async (refusal: RefusedSignIn, { origin }: SignIn): Promise<never> => {
    await signIns.noteRefusal(refusal, origin);
    await delay.afterFailure();
    throw unauthenticated(refusal.reason);
  };

  return {
    /** Opens a session and returns the cookie's value. Throws 401 for an invalid key, 429 for too many sign-ins, and 403 as `refuseOtherSite` does. */
    async open(key: string, signIn: SignIn): Promise<string> {
      refuseOtherSite(signIn.request);
      readCookie(signIn.request);
      const principal = await authentication.authenticate(key);
      if (principal !== undefined) signIns.count(principal.keyId);
      const value =
        principal &&
        (await open(signIn, (session, author) =>
          store.insert({ ...session, keyId: principal.keyId, provider: 'key' }, author),
        ));
      if (value !== undefined) return value;
      return fail(
        { via: 'key', reason: 'The API key is unknown, expired or revoked', keyHash: hashSecret(key) },
        signIn,
      );
    },

    /** Likewise, with the secret of a one-time link. Throws 401 for one that is unknown, used or too old. */
    async openByLink(secret: string, signIn: SignIn): Promise<string> {
      refuseOtherSite(signIn.request);
      readCookie(signIn.request);
      const linkHash = hashSecret(secret);
      const value = await open(signIn, (session, author) =>
        store.insertByLink({ ...session, linkHash }, author),
      );
      if (value !== undefined) return value;
      return fail(
        { via: 'key', reason: 'The link has been used, or is too old: sign in with a key' },
        signIn,
      );
    },

    /** Ends the session of the request's cookie, if there is one. Throws 403 as `readCookie` does. */
    async close(request: Request, origin: RequestOrigin): Promise<void> {
      const value = readCookie(request);
      if (value === undefined) return;
      const hash = hashSecret(value);
      await store.delete(hash, { ...SERVICE, ...origin, via: 'session' });
      sessions.drop(hash);
      wakeMover();
    },

    /** The open sessions of a workspace. Throws 404. */
    async list(workspaceId: string, page: PageRequest, request: Request): Promise<Page<PortalSessionRead>> {
      await requireWorkspace(workspaceId);
      const own = readCookie(request);
      const ownHash = own === undefined ? undefined : hashSecret(own);
      const rows = await store.list(workspaceId, clock.now(), page);
      return toPage(rows, page.limit, (row) => render(row, ownHash));
    },

    /** Ends a session of a workspace. Throws 404; 403 when others than operators end the session of an operator's key. */
    async revoke({ principal, author }: Caller, workspaceId: string, id: string): Promise<void> {
      refuseUnlessOperator(principal, await store.isOfOperator(workspaceId, id));
      const hash = await store.revoke({ workspaceId, id }, author);
      if (hash === undefined) throw notFound('Session not found');
      sessions.drop(hash);
      wakeMover();
    },

    /** The workspaces that the sign-in of the request's cookie opens; null where it was none at a provider. */
    async signOnWorkspaces(request: Request): Promise<string[] | null> {
      const value = readCookie(request);
      const session = value === undefined ? undefined : await sessions.get(hashSecret(value));
      return session?.workspaces ?? null;
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

const render = (row: ListedSession, ownHash: string | undefined): PortalSessionRead => ({
  id: row.id,
  user_email: row.userEmail,
  key_name: row.keyName,
  provider: row.provider,
  user_agent: row.userAgent,
  current: row.hash === ownHash,
  created_at: row.createdAt.toISOString(),
  expires_at: row.expiresAt.toISOString(),
});
