// The portal's cookie: how it is written, and when a request that carries it may be trusted.

import { forbidden } from '../core/errors.ts';
import { explainOtherSite } from '../http/provenance.ts';
import { SESSION_SECONDS } from './limits.ts';

const NAME = 'atrium_session';

/** Reads a cookie of 43 characters of base64url; undefined where a request has none of that form. */
export function cookieReader(name: string): (request: Request) => string | undefined {
  const value = new RegExp(`(?:^|;\\s*)${name}=([\\w-]{43})\\s*(?:;|$)`);
  return (request) => value.exec(request.headers.get('cookie') ?? '')?.[1];
}

const readValue = cookieReader(NAME);

/** The browser sends the cookie only to the portal, not from pages of other sites; scripts cannot read it. */
const ATTRIBUTES = 'HttpOnly; SameSite=Strict; Path=/admin';

/** The Set-Cookie header that opens a session; `value` is 43 characters of base64url. */
export const renderCookie = (request: Request, value: string, seconds = SESSION_SECONDS): string =>
  `${NAME}=${value}; ${ATTRIBUTES}; Max-Age=${seconds}${secureAttribute(request)}`;

export const renderCookieRemoval = (request: Request): string =>
  `${NAME}=; ${ATTRIBUTES}; Max-Age=0${secureAttribute(request)}`;

/** The cookie's value; undefined where there is none. Throws 403 for a request that a page of another origin has sent. */
export function readCookie(request: Request): string | undefined {
  const value = readValue(request);
  if (value !== undefined) refuseOtherSite(request);
  return value;
}

/**
 * Throws 403 for a request that a page of another origin has sent. A sign-in is refused so, too: such a page would sign a
 * person in with a key of its own, and what they do in the portal would then be done in another workspace.
 */
export function refuseOtherSite(request: Request): void {
  const reason = explainOtherSite(request);
  if (reason !== undefined)
    throw forbidden(`The portal takes no request of a page of another origin: ${reason}`);
}

/** For a cookie that is set in the answer to this request. */
export const secureAttribute = (request: Request): string => (isHttps(request) ? '; Secure' : '');

/** A proxy that terminates TLS states the scheme of the request in the header. */
export function isHttps(request: Request): boolean {
  const forwarded = request.headers.get('x-forwarded-proto')?.split(',')[0]?.trim().toLowerCase();
  return forwarded === 'https' || request.url.startsWith('https:');
}
