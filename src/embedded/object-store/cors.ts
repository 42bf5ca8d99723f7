// Lets the configured origins use the store from a browser.
import { S3Error } from './errors.ts';
import type { Reply } from './reply.ts';
import type { StoreRequest } from './request.ts';

const METHODS = 'GET, HEAD, PUT, POST, DELETE';
const EXPOSED =
  'ETag, Location, Content-Length, Content-Range, Accept-Ranges, Last-Modified, x-amz-request-id';
const PREFLIGHT_SECONDS = '3600';

/** `origins` are exact (`https://app.example`); `*` among them allows every one. */
export function createCors(origins: readonly string[]) {
  const isOpen = origins.includes('*');
  const allows = (origin: string | undefined) => origin !== undefined && (isOpen || origins.includes(origin));
  return {
    /** Headers for any answer to a request with this Origin. */
    headers: (origin: string | undefined): Record<string, string> => {
      const vary: Record<string, string> = origins.length > 0 && !isOpen ? { vary: 'Origin' } : {};
      if (origin === undefined || !allows(origin)) return vary;
      return {
        ...vary,
        'access-control-allow-origin': isOpen ? '*' : origin,
        'access-control-expose-headers': EXPOSED,
      };
    },
    /** Answers an OPTIONS request. Throws AccessDenied where the origin or the method is not allowed. */
    preflight: (request: StoreRequest): Reply => {
      const method = request.headers.get('access-control-request-method');
      if (
        !allows(request.headers.get('origin')) ||
        method === undefined ||
        !METHODS.split(', ').includes(method)
      )
        throw new S3Error('AccessDenied', 'CORSResponse: This CORS request is not allowed.');
      const wanted = request.headers.get('access-control-request-headers');
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
