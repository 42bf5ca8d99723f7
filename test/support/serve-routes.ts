// The routes of some areas in this process, with everything that requests pass on their way to them.

import { type AnyElysia, Elysia, type ElysiaConfig } from 'elysia';
import type { Routes } from '../../src/http/area.ts';
import { createCors } from '../../src/http/cors.ts';
import { createHttp, type HttpDeps } from '../../src/http/http.ts';
import { OPEN_ROUTES } from '../../src/open-routes.ts';

const ignore = (): void => undefined;

/**
 * Returns `fetch` as the server calls it. Without `authenticators` no key is known. `open`: more routes that need no key. `options` of
 * Elysia: those of the service read no URL that begins with https.
 */
export function serveRoutes(
  areas: readonly Routes[],
  {
    open = [],
    options = { normalize: false },
    ...deps
  }: Partial<HttpDeps> & {
    open?: readonly string[];
    options?: ElysiaConfig<''>;
  } = {},
) {
  const http = createHttp({
    authenticators: () => ({ key: () => undefined, session: async () => undefined }),
    cors: createCors([]),
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    access: ignore,
    explainFailure: () => undefined,
    shutdown: new AbortController().signal,
    ...deps,
  });
  const app = areas.reduce<AnyElysia>((all, routes) => all.use(routes(http)), new Elysia(options));
  return { http, fetch: http.serve(app, [...OPEN_ROUTES, ...open]) };
}
