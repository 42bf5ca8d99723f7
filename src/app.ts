// The application: every route, as one Elysia, and the server that it runs in.

import nodeHttp from 'node:http';
import { Elysia } from 'elysia';
import { CONSOLE_OPEN_PATHS, type ConsoleDeps, createConsole } from './console/index.ts';
import { createDocs, DOCS_OPEN_PATHS } from './http/docs.ts';
import { ELYSIA_OPTIONS, type Http } from './http/http.ts';
import { HEAD_BYTES_MAX, IDLE_TIMEOUT_SECONDS } from './http/limits.ts';
import { adapt, openPathsOf, type Route } from './http/operation.ts';

export type AppDeps = {
  http: Http;
  routes: readonly Route[];
  version: string;
  console: Omit<ConsoleDeps, 'http'>;
};

export type Serve = ReturnType<Http['serve']>;

/** Returns `fetch` for a server. Throws where a route is not safe (http/routes.ts). */
export function createApp({ http, routes, version, console }: AppDeps): Serve {
  const app = new Elysia(ELYSIA_OPTIONS)
    .use(http.plugin)
    .use(adapt(http, routes))
    .use(createDocs({ http, version }))
    .use(createConsole({ http, ...console }));
  return http.serve(app, [...openPathsOf(routes), ...DOCS_OPEN_PATHS, ...CONSOLE_OPEN_PATHS]);
}

/** Throws where the port is taken. */
export function listen(fetch: Serve, address: { hostname: string; port: number; reusePort?: boolean }) {
  // Bun has no option of a server for it, only this setting for all of them.
  Object.assign(nodeHttp, { maxHeaderSize: HEAD_BYTES_MAX });
  // Each operation bounds its own body, and answers 413 as the interface does; what it does not read is not kept.
  const limits = { maxRequestBodySize: Number.MAX_SAFE_INTEGER, idleTimeout: IDLE_TIMEOUT_SECONDS };
  return Bun.serve({ ...address, ...limits, fetch });
}
