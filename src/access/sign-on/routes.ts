import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { forbidden, notFound } from '../../core/errors.ts';
import type { Http } from '../../http/http.ts';
import { answer, parameters, refusals } from '../../http/input.ts';
import { explainOtherSite } from '../../http/provenance.ts';
import { ErrorDetail } from '../../http/schemas.ts';
import { WORKSPACE_NAME_PATTERN } from '../workspace-names.ts';
import type { SignOn } from './index.ts';

const page = (description: string) => answer({ description, mediaType: 'text/html' });
const REDIRECTION = { 303: answer({ description: 'The way to the provider.' }) };
const REFUSAL_PAGES = { 503: page('A page that says that the provider does not answer, and what to do.') };

/** `signOn`: undefined where no provider is configured. */
export function signOnRoutes({ plugin }: Http, signOn: SignOn | undefined) {
  const required = (): SignOn => {
    if (signOn === undefined) throw notFound('Single sign-on is not configured');
    return signOn;
  };
  return new Elysia({ name: 'access.sign-on', prefix: '/admin/sign-on', tags: ['access'] })
    .use(plugin)
    .get(
      '',
      ({ query, request, state }) => required().begin({ request, requestId: state.requestId }, query),
      {
        work: 'exempt',
        query: parameters(
          Type.Object({
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
        ),
        response: { ...REDIRECTION, ...REFUSAL_PAGES, ...refusals(400, 404) },
        detail: {
          operationId: 'access.begin-sign-on',
          summary: 'Sign in to the portal at the OpenID Connect provider',
          description: 'For browsers: the answer leads to the provider, which leads back to the portal.',
        },
      },
    )
    .get(
      '/callback',
      ({ request, state }) => required().finish({ request, requestId: state.requestId }, state.origin),
      {
        work: 'exempt',
        events: ['auth.user.login', 'auth.user.create', 'auth.user.update'],
        audits: [
          'access.open-session',
          'access.refuse-sign-in',
          'access.create-user',
          'access.update-user',
          'access.create-key',
          'access.update-key',
          'access.revoke-key',
        ],
        response: {
          200: page('Signed in; the page goes on to the portal.'),
          400: answer({
            description:
              'A page that says that the sign-in took too long, and what to do; JSON without a Host.',
            mediaType: 'text/html',
            schema: ErrorDetail,
          }),
          403: page('A page that says why the person may not enter, and what to do.'),
          502: page('A page that says that the answer of the provider was not accepted, and what to do.'),
          ...REFUSAL_PAGES,
          ...refusals(404),
        },
        detail: {
          operationId: 'access.finish-sign-on',
          summary: 'The way back from the OpenID Connect provider',
          description:
            'The redirection URI that is registered at the provider. The answer sets the cookie `atrium_session`.',
        },
      },
    )
    .get(
      '/end',
      ({ request, state }) => {
        if (explainOtherSite(request) !== undefined) throw forbidden('Only the portal may sign people out');
        return required().leave({ request, requestId: state.requestId });
      },
      {
        work: 'exempt',
        response: { ...REDIRECTION, ...REFUSAL_PAGES, ...refusals(400, 403, 404) },
        detail: {
          operationId: 'access.end-sign-on',
          summary: 'Sign out at the OpenID Connect provider, after the sign-out of the portal',
          description:
            'For browsers: the answer leads to the provider, or to the portal where it has no such page.',
        },
      },
    );
}
