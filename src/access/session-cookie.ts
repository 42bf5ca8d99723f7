// The portal's cookies: how they are written, and when a request that carries one may be trusted.

import { forbidden, unauthenticated } from '../core/errors.ts';
import { explainOtherSite } from '../http/provenance.ts';
import { stateOf } from '../http/state.ts';
import { splitTarget } from '../http/url.ts';
import { SESSION_SECONDS } from './limits.ts';

export type Cookie = {
  /**
   * 43 characters of base64url; undefined where a request has none of that form. Throws 401, and removes the cookies, where it
   * has two of the name: a page of another port or of a sibling domain may have set one of them.
   */
  read(request: Request): string | undefined;
  /** The Set-Cookie header; `value` is 43 characters of base64url. */
  render(request: Request, value: string, seconds: number): string;
  renderRemoval(request: Request): string;
};

/**
 * Over https the name begins with `__Host-`, which browsers take from this very host alone, for all of its paths. Over http
 * there is no such protection, and the cookie is sent to `path` alone.
 */
export function createCookie({
  name,
  path,
  sameSite,
}: {
  name: string;
  path: string;
  sameSite: string;
}): Cookie {
  const nameOf = (request: Request): string => (stateOf(request).client.isHttps ? `__Host-${name}` : name);
  const renderAt = (request: Request, value: string, seconds: number, where = path): string =>
    stateOf(request).client.isHttps
      ? `${nameOf(request)}=${value}; HttpOnly; SameSite=${sameSite}; Path=/; Max-Age=${seconds}; Secure`
      : `${name}=${value}; HttpOnly; SameSite=${sameSite}; Path=${where}; Max-Age=${seconds}`;
  return {
    read(request) {
      const values = valuesOf(request, nameOf(request));
      if (values.length > 1) {
        const places = stateOf(request).client.isHttps ? ['/'] : placesOf(request, path);
        throw unauthenticated(
          `The request has two cookies ${nameOf(request)}: both are removed, sign in again`,
          {
            setCookies: places.map((place) => renderAt(request, '', 0, place)),
          },
        );
      }
      const [value] = values;
      return value !== undefined && /^[\w-]{43}$/.test(value) ? value : undefined;
    },
    render: (request, value, seconds) => renderAt(request, value, seconds),
    renderRemoval: (request) => renderAt(request, '', 0),
  };
}

function valuesOf(request: Request, name: string): string[] {
  const pairs = (request.headers.get('cookie') ?? '').split(/[;,]/).map((pair) => pair.trim());
  return pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1));
}

const SEGMENTS_MAX = 8;

/** The paths and domains for which a cookie of this request may have been set, as Set-Cookie writes them. */
function placesOf(request: Request, path: string): string[] {
  const segments = splitTarget(request.url).path.split('/').slice(1, SEGMENTS_MAX);
  const paths = segments.flatMap((_, at) => {
    const prefix = `/${segments.slice(0, at + 1).join('/')}`;
    return [prefix, `${prefix}/`];
  });
  const labels = (request.headers.get('host') ?? '').replace(/:\d+$/, '').split('.');
  const isName = labels.length > 1 && /[a-z]/i.test(labels.at(-1) ?? '');
  const domains = isName ? labels.slice(0, -1).map((_, at) => labels.slice(at).join('.')) : [];
  return [...new Set([path, '/', ...paths])].flatMap((each) => [
    each,
    ...domains.map((domain) => `${each}; Domain=${domain}`),
  ]);
}

/** The browser sends it only to the portal, not from pages of other sites; scripts cannot read it. */
const SESSION = createCookie({ name: 'atrium_session', path: '/admin', sameSite: 'Strict' });

export const renderCookie = (request: Request, value: string, seconds = SESSION_SECONDS): string =>
  SESSION.render(request, value, seconds);

export const renderCookieRemoval = SESSION.renderRemoval;

/**
 * The cookie's value; undefined where there is none. Throws 403 for a request that a page of another origin has sent, and 401
 * for one with two cookies.
 */
export function readCookie(request: Request): string | undefined {
  const value = SESSION.read(request);
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
