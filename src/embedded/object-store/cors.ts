// Lets the configured origins, and pages of the store's own host, use the store from a browser.
import { isLoopback } from '../../core/origin.ts';
import { S3Error } from './errors.ts';
import type { Reply } from './reply.ts';
import type { StoreRequest } from './request.ts';

const METHODS = 'GET, HEAD, PUT, POST, DELETE';
const EXPOSED =
  'ETag, Location, Content-Length, Content-Range, Accept-Ranges, Last-Modified, x-amz-request-id';
const PREFLIGHT_SECONDS = '3600';

/**
 * `origins` are exact (`https://app.example`); `*` among them allows every one. A page that was served under the host name by
 * which the store is addressed is always allowed, on any port: the service's portal is such a page. The permission is worth
 * nothing without a signature, because no request to the store carries a cookie.
 */
export function createCors(origins: readonly string[]) {
  const isOpen = origins.includes('*');
  const allows = (origin: string, host: string | undefined): boolean =>
    isOpen || origins.includes(origin) || isOwnHost(origin, host);
  return {
    /** Headers for any answer to a request with this Origin and this Host. */
    headers(asked: { origin?: string | undefined; host?: string | undefined }): Record<string, string> {
      const { origin, host } = asked;
      const vary: Record<string, string> = isOpen ? {} : { vary: 'Origin' };
      if (origin === undefined || !allows(origin, host)) return vary;
      return {
        ...vary,
        'access-control-allow-origin': isOpen ? '*' : origin,
        'access-control-expose-headers': EXPOSED,
      };
    },
    /** Answers an OPTIONS request. Throws AccessDenied where the origin or the method is not allowed. */
    preflight({ headers }: StoreRequest): Reply {
      const origin = headers.get('origin');
      const method = headers.get('access-control-request-method') ?? '';
      if (
        origin === undefined ||
        !allows(origin, headers.get('host')) ||
        !METHODS.split(', ').includes(method)
      )
        throw new S3Error('AccessDenied', 'CORSResponse: This CORS request is not allowed.');
      const wanted = headers.get('access-control-request-headers');
      return {
        status: 200,
        headers: {
          'access-control-allow-methods': METHODS,
          'access-control-max-age': PREFLIGHT_SECONDS,
          ...(wanted === undefined ? {} : { 'access-control-allow-headers': wanted }),
        },
      };
    },
  };
}

/** Names of this machine count as one: a person may open the portal as localhost while the store is known as 127.0.0.1. */
function isOwnHost(origin: string, host: string | undefined): boolean {
  const page = URL.parse(origin)?.hostname;
  const own = URL.parse(`http://${host ?? ''}`)?.hostname;
  if (page === undefined || own === undefined) return false;
  const isLoopbackName = (name: string): boolean => isLoopback(name.replace(/^\[(.+)\]$/, '$1'));
  return page === own || (isLoopbackName(page) && isLoopbackName(own));
}
