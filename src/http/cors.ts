// Cross-origin answers for the configured origins (the Fetch standard, section 3.2).

export type Cors = ReturnType<typeof createCors>;

/** Headers of answers that a page may read: those of this service, and those of the APIs that it is compatible with. */
const EXPOSED = (
  'x-request-id retry-after retry-after-ms www-authenticate idempotent-replayed atrium-search-engine atrium-cache ' +
  'atrium-model-target openai-processing-ms x-should-retry x-ratelimit-limit-requests x-ratelimit-remaining-requests ' +
  'x-ratelimit-reset-requests x-ratelimit-limit-tokens x-ratelimit-remaining-tokens x-ratelimit-reset-tokens'
).replaceAll(' ', ', ');

export function createCors(origins: readonly string[]) {
  const everyOrigin = origins.includes('*');
  const allowed = new Set(origins);
  const originOf = (request: Request): string | undefined => {
    const origin = request.headers.get('origin');
    return origin !== null && (everyOrigin || allowed.has(origin)) ? origin : undefined;
  };
  const mark = (request: Request, response: Response): void => {
    response.headers.append('vary', 'origin');
    const origin = originOf(request);
    if (origin === undefined) return;
    response.headers.set('access-control-allow-origin', origin);
    response.headers.set('access-control-expose-headers', EXPOSED);
  };
  return {
    /** The answer to a preflight of an allowed origin; undefined for other requests. */
    preflight(request: Request): Response | undefined {
      const origin = originOf(request);
      const isPreflight =
        request.method === 'OPTIONS' && request.headers.has('access-control-request-method');
      if (origin === undefined || !isPreflight) return undefined;
      return new Response(null, {
        status: 204,
        headers: {
          'access-control-allow-origin': origin,
          'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
          'access-control-allow-headers': request.headers.get('access-control-request-headers') ?? '*',
          'access-control-max-age': '600',
          vary: 'origin, access-control-request-headers',
        },
      });
    },
    /** Adds the headers that let an allowed origin read the answer; absent where none is allowed. */
    mark: origins.length === 0 ? undefined : mark,
  };
}
