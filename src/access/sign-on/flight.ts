// A sign-in between leaving for the provider and coming back. The browser keeps one secret in a cookie; state, nonce and
// code verifier are derived from it, so that the service keeps nothing, and any process can finish what another has begun.

import { randomBytes, timingSafeEqual } from 'node:crypto';
import { FLIGHT_SECONDS } from '../limits.ts';
import { createCookie } from '../session-cookie.ts';

export type Flight = {
  state: string;
  nonce: string;
  /** The code verifier of PKCE (RFC 7636). */
  verifier: string;
  /** The workspace that the person has asked for. */
  workspace: string | undefined;
};

const SECRET_BYTES = 32;
const NONCE_BYTES = 16;

/** `Lax`, because the browser comes back from another site, and would not send a `Strict` cookie then. */
const COOKIE = createCookie({ name: 'atrium_sign_on', path: '/admin/sign-on', sameSite: 'Lax' });

export const readFlightSecret = COOKIE.read;

/** The secret of the browser's cookie; a new one where it has none. Several windows may sign in with one secret. */
export const flightSecretOf = (request: Request): string =>
  readFlightSecret(request) ?? randomBytes(SECRET_BYTES).toString('base64url');

export const renderFlightCookie = (request: Request, secret: string): string =>
  COOKIE.render(request, secret, FLIGHT_SECONDS);

export const renderFlightCookieRemoval = COOKIE.renderRemoval;

/** A new sign-in. The state says when it began and for which workspace, and proves both with the secret. */
export function beginFlight(secret: string, now: Date, workspace = ''): Flight {
  const begun = Math.floor(now.getTime() / 1000).toString(36);
  return deriveFlight(secret, [begun, randomBytes(NONCE_BYTES).toString('base64url'), workspace].join('.'));
}

/** The sign-in of this state; undefined where another browser has begun it, or it has begun too long ago. */
export function findFlight(secret: string, state: string, now: Date): Flight | undefined {
  const flight = deriveFlight(secret, state.slice(0, Math.max(0, state.lastIndexOf('.'))));
  const [given, expected] = [Buffer.from(state), Buffer.from(flight.state)];
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  const seconds = now.getTime() / 1000 - Number.parseInt(state, 36);
  return seconds <= FLIGHT_SECONDS ? flight : undefined;
}

function deriveFlight(secret: string, payload: string): Flight {
  const derive = (purpose: string): string =>
    new Bun.CryptoHasher('sha256', secret).update(`${purpose}:${payload}`).digest('base64url');
  return {
    state: `${payload}.${derive('state')}`,
    nonce: derive('nonce'),
    verifier: derive('verifier'),
    workspace: payload.split('.')[2] || undefined,
  };
}
