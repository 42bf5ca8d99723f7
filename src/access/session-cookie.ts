// The portal's cookie: how it is written, and when a request that carries it may be trusted.

import { forbidden } from '../core/errors.ts';
import { explainOtherSite } from '../http/provenance.ts';
import { SESSION_SECONDS } from './limits.ts';

const NAME = 'atrium_session';
const VALUE = new RegExp(`(?:^|;\\s*)${NAME}=([\\w-]{43})\\s*(?:;|$)`);

/** The browser sends the cookie only to the portal, not from pages of other sites; scripts cannot read it. */
const ATTRIBUTES = 'HttpOnly; SameSite=Strict; Path=/admin';

/** The Set-Cookie header that opens a session; `value` is 43 characters of base64url. */
export const renderCookie = (request: Request, value: string): string =>
  `${NAME}=${value}; ${ATTRIBUTES}; Max-Age=${SESSION_SECONDS}${secure(request)}`;

export const renderCookieRemoval = (request: Request): string =>
  `${NAME}=; ${ATTRIBUTES}; Max-Age=0${secure(request)}`;

/** The cookie's value; undefined where there is none. Throws 403 for a request that a page of another origin has sent. */
export function readCookie(request: Request): string | undefined {
  const value = VALUE.exec(request.headers.get('cookie') ?? '')?.[1];
  if (value === undefined) return undefined;
  const reason = explainOtherSite(request);
  if (reason !== undefined)
    throw forbidden(`The portal's cookie was sent by a page of another origin: ${reason}`);
  return value;
}

/** A proxy that terminates TLS states the scheme of the request in the header. */
function secure(request: Request): string {
  const forwarded = request.headers.get('x-forwarded-proto')?.split(',')[0]?.trim().toLowerCase();
  return forwarded === 'https' || request.url.startsWith('https:') ? '; Secure' : '';
}
