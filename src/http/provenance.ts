// The origin of a request, derived from its headers. A program can send any headers, a page in a browser cannot: these checks
// refuse pages of other sites and proxied requests, but not a program that connects directly.

import { declaresJson } from './validation.ts';

/** Whether the page that sent the request, if the browser says so, was served under the request's own host. */
function isSameOrigin(request: Request): boolean {
  const origin = request.headers.get('origin');
  if (origin === null) return true;
  const host = request.headers.get('host') ?? URL.parse(request.url)?.host;
  return host !== undefined && URL.parse(origin)?.host === host.toLowerCase();
}

/** The origin of a page of this service that a program of this machine has opened: its name cannot be another's by DNS. */
export const isOwnLocalPage = (request: Request): boolean =>
  LOOPBACK_HOST.test(request.headers.get('host') ?? '') && isSameOrigin(request);

/** Hosts that no DNS server can assign: 127.0.0.0/8, [::1] and localhost, with any port. */
const LOOPBACK_HOST = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)(?::\d{1,5})?$/i;

const ADDED_BY_PROXIES =
  /^(?:forwarded|via|x-forwarded(?:-.+)?|x-real-ip|(?:x|true|x-cluster|fastly)-client-ip|cf-connecting-ip)$/;

/** `Sec-Fetch-Site` of requests that the user or a page of the same origin has caused (Fetch Metadata, 2.2). */
const OWN_SITES: ReadonlySet<string> = new Set(['same-origin', 'none']);

const isOwnSite = ({ headers }: Request): boolean => {
  const site = headers.get('sec-fetch-site');
  return site === null || OWN_SITES.has(site);
};

/**
 * The header by which the browser says that a page of another origin has caused the request; undefined where none does.
 * The `Origin` of a request that only reads is not compared, because such requests change nothing.
 */
export function explainOtherSite(request: Request): string | undefined {
  if (!isOwnSite(request)) return `Sec-Fetch-Site: ${request.headers.get('sec-fetch-site')}`;
  const reads = request.method === 'GET' || request.method === 'HEAD';
  return reads || isSameOrigin(request) ? undefined : 'Origin';
}

/**
 * The condition that the request fails to meet as one of a program of this machine, or of a page of this service; undefined
 * where it meets all. The media type counts, because browsers send some others for any page without a preflight.
 */
export function explainForeign(request: Request): string | undefined {
  const { headers, method } = request;
  if (!LOOPBACK_HOST.test(headers.get('host') ?? '')) return 'name this machine localhost in its Host';
  for (const name of headers.keys()) if (ADDED_BY_PROXIES.test(name)) return `not pass a proxy (${name})`;
  if (!isSameOrigin(request) || !isOwnSite(request)) return "not be sent by another site's page";
  if (method !== 'GET' && method !== 'HEAD' && !declaresJson(request)) return 'be sent as application/json';
  return undefined;
}
