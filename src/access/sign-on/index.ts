// Single sign-on of the portal by OpenID Connect: authorization code flow with PKCE.

import { type RequestOrigin, SERVICE } from '../../core/author.ts';
import type { Clock } from '../../core/clock.ts';
import { malformed, ServiceError } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import { createSemaphore } from '../../core/semaphore.ts';
import { stateOf } from '../../http/state.ts';
import { splitTarget } from '../../http/url.ts';
import type { Commits } from '../authentication.ts';
import { createKeyText, hashSecret, shownPrefix } from '../key-text.ts';
import { SIGN_ONS_MAX } from '../limits.ts';
import { renderCookie } from '../session-cookie.ts';
import { createSession } from '../sessions.ts';
import type { SignIns } from '../sign-ins.ts';
import type { SignOnStore } from '../store/sign-on.ts';
import {
  beginFlight,
  findFlight,
  flightSecretOf,
  readFlightSecret,
  renderFlightCookie,
  renderFlightCookieRemoval,
} from './flight.ts';
import { toPerson } from './person.ts';
import {
  describeFailure,
  PROBLEMS,
  type ProblemName,
  renderReturnPage,
  SignOnProblem,
  toProblem,
} from './problems.ts';
import { createProvider } from './provider.ts';
import { grantsOf } from './roles.ts';
import type { SignOnSettings } from './settings.ts';

export type SignOnDeps = {
  settings: SignOnSettings;
  store: SignOnStore;
  signIns: SignIns;
  commits: Commits;
  clock: Clock;
  log: Logger;
};

const PORTAL = '/admin';
const CALLBACK_PATH = '/admin/sign-on/callback';

type Asked = { request: Request; requestId: string };

export type SignOn = ReturnType<typeof createSignOn>;

/** Each function answers a page for people, also where it fails; it throws 400 for a request without a Host. */
export function createSignOn({ settings, store, signIns, commits, clock, log }: SignOnDeps) {
  const provider = createProvider(settings);
  const places = createSemaphore({
    runningMax: SIGN_ONS_MAX,
    waitingMax: 0,
    refuse: 'Too many sign-ins are waiting for the provider',
  });
  const originOf = (request: Request): string => settings.publicUrl ?? requestOrigin(request);

  const fail = (error: unknown, { requestId }: Asked, instead?: ProblemName): Response => {
    // A request without a Host is no problem of the provider.
    if (error instanceof ServiceError && error.kind === 'malformed') throw error;
    const problem = instead ?? toProblem(error);
    const line = { request_id: requestId, problem, reason: describeFailure(error) };
    // Failures that the person alone has caused need no attention.
    if (error instanceof SignOnProblem && error.cause === undefined)
      log.info(line, 'a single sign-on was refused');
    else log.warn(line, 'a single sign-on has failed');
    const [status, sentence] = PROBLEMS[problem];
    const headers: Record<string, string> = status === 503 ? { 'retry-after': '60' } : {};
    const page = renderReturnPage({ status, to: `${PORTAL}/sign-in?problem=${problem}`, sentence }, headers);
    if (error instanceof ServiceError)
      for (const value of error.setCookies) page.headers.append('set-cookie', value);
    return page;
  };

  /** Opens a session for the person that the provider has identified, and returns the cookie's value. */
  const open = async (request: Request, origin: RequestOrigin): Promise<string> => {
    const secret = readFlightSecret(request);
    const { search } = splitTarget(request.url);
    const state = new URLSearchParams(search).get('state') ?? '';
    const flight = secret === undefined ? undefined : findFlight(secret, state, clock.now());
    if (flight === undefined) throw new SignOnProblem('expired');
    const claims = await provider.exchange(new URL(`${CALLBACK_PATH}?${search}`, originOf(request)), flight);
    const person = toPerson(settings, claims);
    signIns.count(`${person.issuer} ${person.subject}`);
    const grants = grantsOf(settings.roles, claims);
    // The requested workspace comes first; the sort is stable.
    grants.sort(
      (a, b) => Number(b.workspace === flight.workspace) - Number(a.workspace === flight.workspace),
    );
    const { value, session } = createSession(request, clock.now(), settings.sessionSeconds);
    const text = createKeyText();
    const signedIn = store.signIn({
      person,
      grants,
      session,
      ids: { userId: newId(), keyId: newId(), keyHash: hashSecret(text), keyPrefix: shownPrefix(text) },
      author: { ...SERVICE, ...origin, actor: person.email, via: 'sign-on' },
    });
    const { outcome, changedKeys } = await signedIn.catch((cause: unknown) => {
      throw new SignOnProblem('database', { cause });
    });
    commits.follow(changedKeys);
    if (outcome !== 'opened') throw new SignOnProblem(outcome);
    return value;
  };

  return {
    /** Sends the browser to the provider. */
    async begin(
      asked: Asked,
      { workspace, prompt }: { workspace?: string; prompt?: 'login' },
    ): Promise<Response> {
      const { request } = asked;
      try {
        const secret = flightSecretOf(request);
        const flight = beginFlight(secret, clock.now(), workspace);
        const redirectUri = `${originOf(request)}${CALLBACK_PATH}`;
        const url = await places.run(() =>
          provider.authorizationUrl(flight, redirectUri, prompt === 'login'),
        );
        return redirect(url.href, { 'set-cookie': renderFlightCookie(request, secret) });
      } catch (error) {
        return fail(error, asked);
      }
    },

    /** The browser comes back with a code, or with an error. */
    async finish(asked: Asked, origin: RequestOrigin): Promise<Response> {
      const { request } = asked;
      try {
        const value = await places.run(() => open(request, origin));
        const answer = renderReturnPage({ status: 200, to: PORTAL, sentence: 'You are signed in.' });
        answer.headers.append('set-cookie', renderCookie(request, value, settings.sessionSeconds));
        answer.headers.append('set-cookie', renderFlightCookieRemoval(request));
        return answer;
      } catch (error) {
        await signIns.noteRefusal({ via: 'sign-on', reason: toProblem(error) }, origin);
        return fail(error, asked);
      }
    },

    /** Sends the browser to the provider's page that ends its session there, where there is one. */
    async leave(asked: Asked): Promise<Response> {
      const home = `${originOf(asked.request)}${PORTAL}/sign-in`;
      try {
        const url = await places.run(() => provider.logoutUrl(home));
        return redirect(url?.href ?? home);
      } catch (error) {
        return fail(error, asked, 'still-signed-in');
      }
    },
  };
}

const redirect = (location: string, headers: Record<string, string> = {}): Response =>
  new Response(null, { status: 303, headers: { location, 'cache-control': 'no-store', ...headers } });

/** A proxy keeps the Host. Throws 400 for a request without one. */
function requestOrigin(request: Request): string {
  const host = request.headers.get('host') ?? '';
  const origin = URL.parse(`${stateOf(request).client.isHttps ? 'https' : 'http'}://${host}`)?.origin;
  if (origin === undefined || host === '') throw malformed('The request needs a Host');
  return origin;
}
