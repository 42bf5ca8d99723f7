import { Type } from '@sinclair/typebox';
import { forbidden, notFound } from '../../core/errors.ts';
import { type Route, route } from '../../http/operation.ts';
import { explainOtherSite } from '../../http/provenance.ts';
import { ErrorDetail } from '../../http/schemas.ts';
import type { SignOn } from '../sign-on/index.ts';
import { WORKSPACE_NAME_PATTERN } from '../workspace-names.ts';

const SIGN_ON = { area: 'access', method: 'GET', credential: 'none', work: 'exempt' } as const;

const page = (description: string) => ({ description, mediaType: 'text/html' });
const REDIRECTION = { 303: { description: 'The way to the provider.' } } as const;
const REFUSAL_PAGES = {
  503: page('A page that says that the provider does not answer, and what to do.'),
} as const;

/** `signOn`: undefined where no provider is configured. */
export function signOnRoutes(signOn: SignOn | undefined): Route[] {
  const required = (): SignOn => {
    if (signOn === undefined) throw notFound('Single sign-on is not configured');
    return signOn;
  };
  return [
    route(
      {
        ...SIGN_ON,
        id: 'access.begin-sign-on',
        path: '/admin/sign-on',
        summary: 'Sign in to the portal at the OpenID Connect provider',
        description: 'For browsers: the answer leads to the provider, which leads back to the portal.',
        query: Type.Object({
          workspace: Type.Optional(
            Type.String({
              pattern: WORKSPACE_NAME_PATTERN,
              description: 'The workspace to enter where the person may enter several.',
            }),
          ),
          prompt: Type.Optional(
            Type.Literal('login', {
              description: 'The provider asks again who the person is, for a sign-in as somebody else.',
            }),
          ),
        }),
        responses: { ...REDIRECTION, ...REFUSAL_PAGES },
        refusals: [400, 404],
      },
      ({ query, request, requestId }) => required().begin({ request, requestId }, query),
    ),
    route(
      {
        ...SIGN_ON,
        id: 'access.finish-sign-on',
        path: '/admin/sign-on/callback',
        audits: [
          'access.open-session',
          'access.refuse-sign-in',
          'access.create-user',
          'access.update-user',
          'access.create-key',
          'access.update-key',
          'access.revoke-key',
        ],
        events: ['auth.user.login', 'auth.user.create', 'auth.user.update'],
        summary: 'The way back from the OpenID Connect provider',
        description:
          'The redirection URI that is registered at the provider. The answer sets the cookie `atrium_session`.',
        responses: {
          200: page('Signed in; the page goes on to the portal.'),
          400: {
            ...page('A page that says that the sign-in took too long, and what to do; JSON without a Host.'),
            schema: ErrorDetail,
          },
          403: page('A page that says why the person may not enter, and what to do.'),
          502: page('A page that says that the answer of the provider was not accepted, and what to do.'),
          ...REFUSAL_PAGES,
        },
        refusals: [404],
      },
      ({ request, requestId, origin }) => required().finish({ request, requestId }, origin),
    ),
    route(
      {
        ...SIGN_ON,
        id: 'access.end-sign-on',
        path: '/admin/sign-on/end',
        summary: 'Sign out at the OpenID Connect provider, after the sign-out of the portal',
        description:
          'For browsers: the answer leads to the provider, or to the portal where it has no such page.',
        responses: { ...REDIRECTION, ...REFUSAL_PAGES },
        refusals: [400, 403, 404],
      },
      ({ request, requestId }) => {
        if (explainOtherSite(request) !== undefined) throw forbidden('Only the portal may sign people out');
        return required().leave({ request, requestId });
      },
    ),
  ];
}
