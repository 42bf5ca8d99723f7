// The application: the routes of the service, and the server that they run in.

import nodeHttp from 'node:http';
import { type AnyElysia, Elysia } from 'elysia';
import type { Areas } from './areas.ts';
import { type ConsoleDeps, createConsole } from './console/index.ts';
import { createDocs } from './http/docs.ts';
import { createHealth, type HealthDeps } from './http/health.ts';
import { ELYSIA_OPTIONS, type Http } from './http/http.ts';
import { HEAD_BYTES_MAX, IDLE_TIMEOUT_SECONDS } from './http/limits.ts';
import { createSettings, type SettingsDeps } from './http/settings-route.ts';
import { OPEN_ROUTES } from './open-routes.ts';

export type AppDeps = {
  http: Http;
  areas: Areas;
  health: HealthDeps;
  settings: SettingsDeps;
  console: ConsoleDeps;
  version: string;
  /** Routes beside the service's own. */
  more?: AnyElysia | undefined;
};

export type Serve = ReturnType<Http['serve']>;

/** Returns `fetch` for a server. Throws where a route is not safe (http/routes.ts). */
export function createApp({ http, areas, health, settings, console, version, more }: AppDeps): Serve {
  const app = new Elysia(ELYSIA_OPTIONS)
    .use(http.plugin)
    .use(areas.documents.routes(http))
    .use(areas.gateway.routes(http))
    .use(areas.chat.routes(http))
    .use(areas.bots.routes(http))
    .use(areas.mcp.routes(http))
    .use(areas.compute.routes(http))
    .use(areas.usage.routes(http))
    .use(areas.access.routes(http))
    .use(areas.selfService(http))
    .use(areas.trends.routes(http))
    .use(createHealth(http, health))
    .use(createSettings(http, settings))
    .use(createDocs(http, version))
    .use(createConsole(http, console));
  return http.serve(more === undefined ? app : app.use(more), OPEN_ROUTES);
}

/** Throws where the port is taken. */
export function listen(fetch: Serve, address: { hostname: string; port: number; reusePort?: boolean }) {
  // Bun has no option of a server for it, only this setting for all of them.
  Object.assign(nodeHttp, { maxHeaderSize: HEAD_BYTES_MAX });
  // Each operation bounds its own body, and answers 413 as the interface does; what it does not read is not kept.
  const limits = { maxRequestBodySize: Number.MAX_SAFE_INTEGER, idleTimeout: IDLE_TIMEOUT_SECONDS };
  return Bun.serve({ ...address, ...limits, fetch });
}
