// Where a request comes from, as far as its head tells. A program can write any head, a browser's page cannot: what is
// told here keeps other sites' pages and proxies out, not a program that can connect by itself.

/** Whether the page that sent the request, if the browser says so, was served under the request's own host. */
export function isSameOrigin(request: Request): boolean {
  const origin = request.headers.get('origin');
  if (origin === null) return true;
  const host = request.headers.get('host') ?? URL.parse(request.url)?.host;
  return host !== undefined && URL.parse(origin)?.host === host.toLowerCase();
}

/** Names that no DNS server gives away: 127.0.0.0/8, [::1] and localhost, with any port. */
const LOOPBACK_HOST = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)(?::\d{1,5})?$/i;

/** What proxies add to the requests that they hand on. */
const ADDED_BY_PROXIES =
  /^(?:forwarded|via|x-forwarded(?:-.+)?|x-real-ip|(?:x|true|x-cluster|fastly)-client-ip|cf-connecting-ip)$/;

/** What a browser says of a request that its user or a page of the same origin has caused (Fetch Metadata, 2.2). */
const OWN_SITES: ReadonlySet<string> = new Set(['same-origin', 'none']);

const JSON_MEDIA_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

export const isJsonMediaType = (mediaType: string): boolean => JSON_MEDIA_TYPE.test(mediaType);

/** Whether the body is declared to be JSON. */
export const declaresJson = (request: Request): boolean =>
  isJsonMediaType(request.headers.get('content-type') ?? '');

/**
 * What the request would have to be to come from a program of this machine, or from a page of this service; undefined
 * where it is all of that. The media type counts because a browser sends others for any page, without asking first.
 */
export function explainForeign(request: Request): string | undefined {
  const { headers, method } = request;
  if (!LOOPBACK_HOST.test(headers.get('host') ?? '')) return 'name this machine localhost in its Host';
  for (const name of headers.keys()) if (ADDED_BY_PROXIES.test(name)) return `not pass a proxy (${name})`;
  const site = headers.get('sec-fetch-site');
  if (!isSameOrigin(request) || (site !== null && !OWN_SITES.has(site)))
    return "not be sent by another site's page";
  if (method !== 'GET' && method !== 'HEAD' && !declaresJson(request)) return 'be sent as application/json';
  return undefined;
}
