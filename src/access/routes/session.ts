import { isUuid } from '../../core/ids.ts';
import { noContent, type Route, route } from '../../http/operation.ts';
import { PageQuery, pageAnswer, toPageRequest } from '../../http/paging.ts';
import { WorkspacePath } from '../../http/schemas.ts';
import { PORTAL_SESSION_EXAMPLE, SESSION_EXAMPLE } from '../examples.ts';
import { SESSION_BODY_BYTES_MAX } from '../limits.ts';
import { LinkSessionCreate, PortalSessionPage, PortalSessionPath } from '../portal-schema.ts';
import { SessionCreate, SessionRead } from '../schema.ts';
import { renderCookie, renderCookieRemoval } from '../session-cookie.ts';
import type { Sessions } from '../sessions.ts';

const SESSION = { area: 'access', path: '/admin/api/session', credential: 'none', work: 'exempt' } as const;
const ADMINISTRATION = { area: 'access', credential: 'administration', scope: 'admin' } as const;

export function sessionRoutes(sessions: Sessions): Route[] {
  return [
    route(
      {
        ...SESSION,
        id: 'access.open-session',
        audits: ['access.open-session', 'access.refuse-sign-in'],
        events: ['auth.user.login'],
        method: 'POST',
        summary: 'Sign in to the portal with a key',
        description:
          'The answer sets the cookie `atrium_session`, which lasts 12 hours and ends with the key. Any key may sign in; ' +
          'the session has the rights of the key.',
        body: SessionCreate,
        bodyBytesMax: SESSION_BODY_BYTES_MAX,
        bodyExample: { key: 'atr_…' },
        responses: { 204: { description: 'Signed in; no content.' } },
        refusals: [401, 403, 429, 503],
      },
      async ({ body, request, origin }) =>
        noContent({
          'set-cookie': renderCookie(request, await sessions.open(body.key, { request, origin })),
        }),
    ),
    route(
      {
        ...SESSION,
        id: 'access.open-session-by-link',
        audits: ['access.open-session', 'access.refuse-sign-in'],
        events: ['auth.user.login'],
        method: 'POST',
        path: '/admin/api/session/link',
        summary: 'Sign in to the portal with the one-time link that the first start prints',
        description: 'As the sign-in with a key. A link can be used once, within 15 minutes.',
        body: LinkSessionCreate,
        bodyBytesMax: SESSION_BODY_BYTES_MAX,
        bodyExample: { link: '…' },
        responses: { 204: { description: 'Signed in; no content.' } },
        refusals: [401, 403, 429, 503],
      },
      async ({ body, request, origin }) =>
        noContent({
          'set-cookie': renderCookie(request, await sessions.openByLink(body.link, { request, origin })),
        }),
    ),
    route(
      {
        ...SESSION,
        credential: 'administration',
        id: 'access.read-session',
        method: 'GET',
        summary: 'For whom a key, or a sign-in, speaks',
        description: 'Any key may ask this of itself, whatever its scopes.',
        responses: { 200: { description: 'The caller.', schema: SessionRead, example: SESSION_EXAMPLE } },
      },
      async ({ principal: { workspaceId, userId, email, keyId, scopes, via }, request }) => ({
        workspace_id: workspaceId,
        user_id: userId,
        user_email: email,
        key_id: keyId,
        scopes: [...scopes],
        sign_on_workspaces: via === 'session' ? await sessions.signOnWorkspaces(request) : null,
      }),
    ),
    route(
      {
        ...SESSION,
        id: 'access.close-session',
        audits: ['access.close-session'],
        events: ['auth.user.logout'],
        method: 'DELETE',
        summary: 'Sign out of the portal',
        description: 'The answer removes the cookie.',
        responses: { 204: { description: 'Signed out, or not signed in at all; no content.' } },
        refusals: [403, 503],
      },
      async ({ request, origin }) => {
        await sessions.close(request, origin);
        return noContent({ 'set-cookie': renderCookieRemoval(request) });
      },
    ),
    ...openSessionRoutes(sessions),
  ];
}

const OPEN_SESSIONS = '/admin/api/workspaces/{workspace_id}/sessions';

function openSessionRoutes(sessions: Sessions): Route[] {
  return [
    route(
      {
        ...ADMINISTRATION,
        id: 'access.list-sessions',
        work: 'exempt',
        method: 'GET',
        path: OPEN_SESSIONS,
        summary: "List the open sessions of the portal of a workspace's people, newest first",
        parameters: WorkspacePath,
        query: PageQuery,
        responses: pageAnswer('A page of sessions.', PortalSessionPage, PORTAL_SESSION_EXAMPLE),
        refusals: [404],
      },
      ({ path, query, request }) => sessions.list(path.workspace_id, toPageRequest(query, isUuid), request),
    ),
    route(
      {
        ...ADMINISTRATION,
        id: 'access.revoke-session',
        work: 'exempt',
        audits: ['access.close-session'],
        events: ['auth.user.logout'],
        method: 'DELETE',
        path: `${OPEN_SESSIONS}/{session_id}`,
        summary: 'End a session of the portal',
        description: "Only operators end the session of an operator's key.",
        parameters: PortalSessionPath,
        responses: { 204: { description: 'Ended; no content.' } },
        refusals: [404],
      },
      ({ principal, author, path }) =>
        sessions.revoke({ principal, author }, path.workspace_id, path.session_id),
    ),
  ];
}
