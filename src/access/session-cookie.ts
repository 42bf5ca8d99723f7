// The portal's cookie: how it is written, and when a request that carries it may be trusted.

import { isSameOrigin } from '../http/provenance.ts';
import { SESSION_SECONDS } from './limits.ts';

const NAME = 'atrium_session';
const VALUE = new RegExp(`(?:^|;\\s*)${NAME}=([\\w-]{43})\\s*(?:;|$)`);

/** Sent by the browser to the portal alone, never from another site's page, never to a script. */
const ATTRIBUTES = 'HttpOnly; SameSite=Strict; Path=/admin';

/** The Set-Cookie header that opens a session; `value` is 43 characters of base64url. */
export const renderCookie = (request: Request, value: string): string =>
  `${NAME}=${value}; ${ATTRIBUTES}; Max-Age=${SESSION_SECONDS}${secure(request)}`;

/** The Set-Cookie header that takes the cookie away. */
export const renderCookieRemoval = (request: Request): string =>
  `${NAME}=; ${ATTRIBUTES}; Max-Age=0${secure(request)}`;

/** The cookie's value. Undefined without one, and for a change that another site's page has sent. */
export function readCookie(request: Request): string | undefined {
  const value = VALUE.exec(request.headers.get('cookie') ?? '')?.[1];
  if (value === undefined) return undefined;
  const changes = request.method !== 'GET' && request.method !== 'HEAD';
  return changes && !isSameOrigin(request) ? undefined : value;
}

/** Behind a proxy that ends TLS the header tells how the request came. */
function secure(request: Request): string {
  const forwarded = request.headers.get('x-forwarded-proto')?.split(',')[0]?.trim().toLowerCase();
  return forwarded === 'https' || request.url.startsWith('https:') ? '; Secure' : '';
}
