// Routes → one Elysia. It finds the route and describes the interface; everything else of a request's way stands in
// http/boundary.ts.

import http from 'node:http';
import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { notFound } from './core/errors.ts';
import type { Boundary } from './http/boundary.ts';
import type { Cors } from './http/cors.ts';
import { HEAD_BYTES_MAX, IDLE_TIMEOUT_SECONDS } from './http/limits.ts';
import { METHOD_NOT_ALLOWED_OPENAI_ERROR } from './http/openai-error.ts';
import { type Route, reply, route } from './http/operation.ts';
import { toUrlPattern } from './http/request.ts';

export type AppOptions = { routes: readonly Route[]; boundary: Boundary; cors: Cors };

type Asked = { request: Request; server: { timeout(request: Request, seconds: number): void } | null };

export function createApp({ routes, boundary, cors }: AppOptions) {
  // Bun has no option of a server for it, only this setting for all of them.
  Object.assign(http, { maxHeaderSize: HEAD_BYTES_MAX });
  const app = new Elysia({
    precompile: true,
    normalize: false,
    // A host may be a single letter: the path is looked for behind `http://`, not further on.
    handler: { standardHostname: false },
    // Each operation bounds its own body, and answers 413 as the interface does; what it does not read is not kept.
    serve: { maxRequestBodySize: Number.MAX_SAFE_INTEGER, idleTimeout: IDLE_TIMEOUT_SECONDS },
  });
  const unmatched = boundary.guard(unmatchedRoute(routes, cors));
  app.onError(({ request }) => unmatched(request));
  for (const each of routes) {
    const answer = ifMatched(each, boundary.guard(each), unmatched);
    const path = each.operation.path.replaceAll(/\{(\w+)\}/g, ':$1');
    const handler = each.operation.unhurried
      ? ({ request, server }: Asked) => {
          server?.timeout(request, 0);
          return answer(request);
        }
      : ({ request }: Asked) => answer(request);
    app.route(each.operation.method, path, handler, { parse: 'none' });
  }
  return app;
}

type Answer = (request: Request) => Promise<Response>;

/**
 * The router reads the target as it was sent, and in odd URLs looks for the path at the wrong place; the boundary reads the
 * URL, in which dots and backslashes are resolved. Only where both find the same operation is there one.
 */
function ifMatched({ operation }: Route, answer: Answer, otherwise: Answer): Answer {
  const pattern = toUrlPattern(operation.path);
  return (request) => (pattern.test(request.url) ? answer(request) : otherwise(request));
}

/** What no operation answers: preflights, known paths asked with another method, and unknown paths. */
function unmatchedRoute(routes: readonly Route[], cors: Cors): Route {
  const patterns = routes.map(({ operation }) => ({
    method: operation.method,
    inOpenAiShape: operation.errorShape === 'openai',
    pattern: toUrlPattern(operation.path),
  }));
  return route(
    {
      id: 'http.unmatched',
      method: 'GET',
      path: '*',
      area: 'http',
      summary: 'No such operation',
      credential: 'none',
      parameters: Type.Object({}),
      query: Type.Object({}),
      responses: {},
    },
    ({ request }) => {
      const preflight = request.method === 'OPTIONS' ? cors.preflight(request) : undefined;
      if (preflight !== undefined) return preflight;
      const fitting = patterns.filter(({ pattern }) => pattern.test(request.url));
      if (fitting.length === 0 || fitting.some(({ method }) => method === request.method))
        throw notFound('Not Found');
      const body = fitting.some(({ inOpenAiShape }) => inOpenAiShape)
        ? METHOD_NOT_ALLOWED_OPENAI_ERROR
        : { detail: 'Method Not Allowed' };
      return reply(405, body, { allow: [...new Set(fitting.map(({ method }) => method))].join(', ') });
    },
  );
}
