// The portal's sessions: their routes, and what each does. A session has the scopes of the key that opened it, and ends with it.

import { randomBytes } from 'node:crypto';
import { Elysia } from 'elysia';
import { type Author, type RequestOrigin, SERVICE } from '../core/author.ts';
import type { createCachedLookup } from '../core/cached-lookup.ts';
import type { Clock } from '../core/clock.ts';
import { notFound, unauthenticated } from '../core/errors.ts';
import { isUuid } from '../core/ids.ts';
import type { Principal } from '../core/principal.ts';
import type { Http } from '../http/http.ts';
import { answer, json, parameters, refusals } from '../http/input.ts';
import { type Page, PageQuery, type PageRequest, pageAnswer, toPage, toPageRequest } from '../http/paging.ts';
import { WorkspacePath } from '../http/schemas.ts';
import type { Authentication, Commits } from './authentication.ts';
import { type Caller, refuseUnlessOperator } from './changes.ts';
import { PORTAL_SESSION_EXAMPLE, SESSION_EXAMPLE } from './examples.ts';
import { hashSecret } from './key-text.ts';
import { LINK_SECONDS, SESSION_BODY_BYTES_MAX, SESSION_SECONDS, USER_AGENT_LENGTH_MAX } from './limits.ts';
import {
  LinkSessionCreate,
  PortalSessionPage,
  PortalSessionPath,
  type PortalSessionRead,
  SessionCreate,
  SessionRead,
} from './schema.ts';
import { readCookie, refuseOtherSite, renderCookie, renderCookieRemoval } from './session-cookie.ts';
import type { createSignInDelay, RefusedSignIn, SignIns } from './sign-ins.ts';
import type { ListedSession, NewSession, PortalSession, SessionStore } from './store/sessions.ts';
import type { WorkspaceStore } from './workspaces.ts';

type SessionsDeps = {
  store: SessionStore;
  workspaces: WorkspaceStore;
  /** Sessions by the hashes of their cookies. */
  sessions: ReturnType<typeof createCachedLookup<PortalSession>>;
  authentication: Authentication;
  delay: ReturnType<typeof createSignInDelay>;
  signIns: SignIns;
  commits: Commits;
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

export function createSessions(deps: SessionsDeps) {
  const { store, workspaces, sessions, authentication, delay, signIns, commits, clock } = deps;

  /** `insert` keeps the session, and says whether there was what it opens it with. */
  const open = async (
    { request, origin }: SignIn,
    insert: (session: NewSession, author: Author) => Promise<boolean>,
  ) => {
    const { value, session } = createSession(request, clock.now(), SESSION_SECONDS);
    const opened = await insert(session, { ...SERVICE, ...origin, via: 'key' });
    if (opened) commits.follow();
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
      commits.follow();
    },

    /** The open sessions of a workspace. Throws 404. */
    async list(workspaceId: string, page: PageRequest, request: Request): Promise<Page<PortalSessionRead>> {
      await workspaces.require(workspaceId);
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
      commits.follow();
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

const ADMINISTRATION = { key: { in: 'administration', scope: 'admin' }, work: 'exempt' } as const;

const answerWithCookie = (cookie: string): Response =>
  new Response(null, { status: 204, headers: { 'set-cookie': cookie } });

export function sessionRoutes({ plugin }: Http, sessions: Sessions) {
  return new Elysia({ name: 'access.session', prefix: '/admin/api/session', tags: ['access'] })
    .use(plugin)
    .post(
      '',
      async ({ body, request, state }) =>
        answerWithCookie(
          renderCookie(request, await sessions.open(body.key, { request, origin: state.origin })),
        ),
      {
        work: 'exempt',
        events: ['auth.user.login'],
        audits: ['access.open-session', 'access.refuse-sign-in'],
        body: json(SessionCreate, { bytesMax: SESSION_BODY_BYTES_MAX, example: { key: 'atr_…' } }),
        response: { 204: answer({ description: 'Signed in; no content.' }), ...refusals(401, 403, 429, 503) },
        detail: {
          operationId: 'access.open-session',
          summary: 'Sign in to the portal with a key',
          description:
            'The answer sets the cookie `atrium_session`, which lasts 12 hours and ends with the key. Any key may sign in; ' +
            'the session has the rights of the key.',
        },
      },
    )
    .post(
      '/link',
      async ({ body, request, state }) =>
        answerWithCookie(
          renderCookie(request, await sessions.openByLink(body.link, { request, origin: state.origin })),
        ),
      {
        work: 'exempt',
        events: ['auth.user.login'],
        audits: ['access.open-session', 'access.refuse-sign-in'],
        body: json(LinkSessionCreate, { bytesMax: SESSION_BODY_BYTES_MAX, example: { link: '…' } }),
        response: { 204: answer({ description: 'Signed in; no content.' }), ...refusals(401, 403, 429, 503) },
        detail: {
          operationId: 'access.open-session-by-link',
          summary: 'Sign in to the portal with the one-time link that the first start prints',
          description: 'As the sign-in with a key. A link can be used once, within 15 minutes.',
        },
      },
    )
    .get(
      '',
      async ({ principal: { workspaceId, userId, email, keyId, scopes, via }, request }) => ({
        workspace_id: workspaceId,
        user_id: userId,
        user_email: email,
        key_id: keyId,
        scopes: [...scopes],
        sign_on_workspaces: via === 'session' ? await sessions.signOnWorkspaces(request) : null,
      }),
      {
        key: { in: 'administration' },
        work: 'exempt',
        response: {
          200: answer({ description: 'The caller.', schema: SessionRead, example: SESSION_EXAMPLE }),
        },
        detail: {
          operationId: 'access.read-session',
          summary: 'For whom a key, or a sign-in, speaks',
          description: 'Any key may ask this of itself, whatever its scopes.',
        },
      },
    )
    .delete(
      '',
      async ({ request, state }) => {
        await sessions.close(request, state.origin);
        return answerWithCookie(renderCookieRemoval(request));
      },
      {
        work: 'exempt',
        events: ['auth.user.logout'],
        audits: ['access.close-session'],
        response: {
          204: answer({ description: 'Signed out, or not signed in at all; no content.' }),
          ...refusals(403, 503),
        },
        detail: {
          operationId: 'access.close-session',
          summary: 'Sign out of the portal',
          description: 'The answer removes the cookie.',
        },
      },
    );
}

export function openSessionRoutes({ plugin }: Http, sessions: Sessions) {
  return new Elysia({
    name: 'access.open-sessions',
    prefix: '/admin/api/workspaces/:workspace_id/sessions',
    tags: ['access'],
  })
    .use(plugin)
    .get(
      '',
      ({ params, query, request }) =>
        sessions.list(params.workspace_id, toPageRequest(query, isUuid), request),
      {
        ...ADMINISTRATION,
        params: parameters(WorkspacePath),
        query: parameters(PageQuery),
        response: {
          ...pageAnswer('A page of sessions.', PortalSessionPage, PORTAL_SESSION_EXAMPLE),
          ...refusals(404),
        },
        detail: {
          operationId: 'access.list-sessions',
          summary: "List the open sessions of the portal of a workspace's people, newest first",
        },
      },
    )
    .delete(
      '/:session_id',
      ({ principal, author, params }) =>
        sessions.revoke({ principal, author }, params.workspace_id, params.session_id),
      {
        ...ADMINISTRATION,
        events: ['auth.user.logout'],
        audits: ['access.close-session'],
        params: parameters(PortalSessionPath),
        response: { 204: answer({ description: 'Ended; no content.' }), ...refusals(404) },
        detail: {
          operationId: 'access.revoke-session',
          summary: 'End a session of the portal',
          description: "Only operators end the session of an operator's key.",
        },
      },
    );
}
