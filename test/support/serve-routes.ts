// Some routes in this process, with everything that requests pass on their way to them.

import { Elysia, type ElysiaConfig } from 'elysia';
import { createCors } from '../../src/http/cors.ts';
import { createHttp, type HttpDeps } from '../../src/http/http.ts';
import { adapt, openPathsOf, type Route } from '../../src/http/operation.ts';

const ignore = (): void => undefined;

/**
 * Returns `fetch` as the server calls it. Without `authenticators` no key is known. `options` of Elysia: those of the service read no
 * URL that begins with https.
 */
export function serveRoutes(
  routes: readonly Route[],
  deps: Partial<HttpDeps> = {},
  options: ElysiaConfig<''> = { normalize: false },
) {
  const http = createHttp({
    authenticators: () => ({ key: () => undefined, session: async () => undefined }),
    cors: createCors([]),
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    access: ignore,
    explainFailure: () => undefined,
    onInterrupt: () => () => undefined,
    ...deps,
  });
  const app = new Elysia(options).use(adapt(http, routes));
  return { http, fetch: http.serve(app, openPathsOf(routes)) };
}
