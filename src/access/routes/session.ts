import { Elysia } from 'elysia';
import { isUuid } from '../../core/ids.ts';
import type { Http } from '../../http/http.ts';
import { answer, json, parameters, refusals } from '../../http/input.ts';
import { PageQuery, pageAnswer, toPageRequest } from '../../http/paging.ts';
import { WorkspacePath } from '../../http/schemas.ts';
import { PORTAL_SESSION_EXAMPLE, SESSION_EXAMPLE } from '../examples.ts';
import { SESSION_BODY_BYTES_MAX } from '../limits.ts';
import { LinkSessionCreate, PortalSessionPage, PortalSessionPath } from '../portal-schema.ts';
import { SessionCreate, SessionRead } from '../schema.ts';
import { renderCookie, renderCookieRemoval } from '../session-cookie.ts';
import type { Sessions } from '../sessions.ts';

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
