import { noContent, type Route, reply, route } from '../../http/operation.ts';
import { SESSION_EXAMPLE } from '../examples.ts';
import { SESSION_BODY_BYTES_MAX } from '../limits.ts';
import { SessionCreate, SessionRead } from '../schema.ts';
import { renderCookie, renderCookieRemoval } from '../session-cookie.ts';
import type { Sessions } from '../sessions.ts';

const SESSION = { area: 'access', path: '/admin/api/session', credential: 'none' } as const;

export function sessionRoutes(sessions: Sessions): Route[] {
  return [
    route(
      {
        ...SESSION,
        id: 'access.open-session',
        audits: ['access.open-session'],
        events: ['auth.user.login'],
        method: 'POST',
        summary: 'Sign in to the portal with a key',
        description:
          'The answer sets the cookie `atrium_session`, which lasts 12 hours and ends with the key.',
        body: SessionCreate,
        bodyBytesMax: SESSION_BODY_BYTES_MAX,
        bodyExample: { key: 'atr_…' },
        responses: { 204: { description: 'Signed in; no content.' } },
        refusals: [401, 403, 503],
      },
      async ({ body, request, origin }) =>
        noContent({ 'set-cookie': renderCookie(request, await sessions.open(body.key, origin)) }),
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
      ({ principal: { workspaceId, userId, email, keyId, scopes } }) =>
        reply(200, {
          workspace_id: workspaceId,
          user_id: userId,
          user_email: email,
          key_id: keyId,
          scopes: [...scopes],
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
        refusals: [503],
      },
      async ({ request, origin }) => {
        await sessions.close(request, origin);
        return noContent({ 'set-cookie': renderCookieRemoval(request) });
      },
    ),
  ];
}
