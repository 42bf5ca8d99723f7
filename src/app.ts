// Routes → Bun's server, and one Elysia for the routes that the server's own router does not find; everything else of a request's
// way stands in http/boundary.ts.

import http from 'node:http';
import { notFound } from './core/errors.ts';
import type { Boundary } from './http/boundary.ts';
import type { Cors } from './http/cors.ts';
import { HEAD_BYTES_MAX, IDLE_TIMEOUT_SECONDS, UNREAD_TIMEOUT_SECONDS } from './http/limits.ts';
import { METHOD_NOT_ALLOWED_OPENAI_ERROR, unknownUrlOpenAiError } from './http/openai-error.ts';
import { createOpenAiPaths, type OpenAiPaths } from './http/openai-paths.ts';
import { type Method, type Operation, type Route, route } from './http/operation.ts';
import { splitTarget } from './http/request.ts';

export type AppOptions = { routes: readonly Route[]; boundary: Boundary; cors: Cors };

type Server = Bun.Server<undefined>;
type Handler = (request: Request, server: Server | undefined) => Promise<Response>;
type Handled = { method: Method; path: string; handler: Handler };

export function createApp({ routes, boundary, cors }: AppOptions) {
  // Bun has no option of a server for it, only this setting for all of them.
  Object.assign(http, { maxHeaderSize: HEAD_BYTES_MAX });
  const operations = routes.map(({ operation }) => operation);
  const openAiPaths = createOpenAiPaths(operations);
  const known = createMatchers(operations, openAiPaths);
  const unmatched = boundary.guard(unmatchedRoute(known, { cors, openAiPaths }));
  const handled = routes.flatMap((each, at): Handled[] => {
    const { matches } = known[at] as Known;
    const matched = boundary.guard(each);
    const answer: Handler = (request, server) =>
      matches(request.url) ? matched(request, server) : unmatched(request);
    const { method, noIdleTimeout } = each.operation;
    const handler: Handler = noIdleTimeout
      ? async (request, server) => {
          server?.timeout(request, 0);
          const response = await answer(request, server);
          server?.timeout(request, UNREAD_TIMEOUT_SECONDS);
          return response;
        }
      : answer;
    return toRouterPaths(each.operation).map((path) => ({ method, path, handler }));
  });
  // The framework's way from the server's router to a handler costs some microseconds: the handlers stand there themselves.
  const serverRoutes: Record<string, Partial<Record<Method, Handler>>> = {};
  for (const { method, path, handler } of handled)
    if (!path.endsWith('*')) serverRoutes[path] = { ...serverRoutes[path], [method]: handler };
  let server: Server | undefined;
  let framework: ReturnType<typeof createFramework> | undefined;
  /** The framework is loaded with the first request that needs it, which takes 20 ms. */
  const handle = async (request: Request): Promise<Response> => {
    framework ??= createFramework(handled, unmatched, server);
    return (await framework).handle(request);
  };
  return {
    handle,
    server: () => server,
    listen(address: { hostname: string; port: number; reusePort?: boolean }): void {
      // Each operation bounds its own body, and answers 413 as the interface does; what it does not read is not kept.
      const limits = { maxRequestBodySize: Number.MAX_SAFE_INTEGER, idleTimeout: IDLE_TIMEOUT_SECONDS };
      server = Bun.serve({ ...address, ...limits, routes: serverRoutes, fetch: handle });
    },
  };
}

async function createFramework(
  handled: readonly Handled[],
  unmatched: (request: Request) => Promise<Response>,
  server: Server | undefined,
) {
  const { Elysia } = await import('elysia');
  // A host may be a single letter: the path is looked for behind `http://`, not further on.
  const framework = new Elysia({ precompile: false, normalize: false, handler: { standardHostname: false } });
  framework.onError(({ request }) => unmatched(request));
  for (const { method, path, handler } of handled)
    framework.route(method, path, ({ request }) => handler(request, server), { parse: 'none' });
  return framework;
}

/** A rest of one segment has a path of its own: the server finds it by itself, which it does not do with a `*`. */
function toRouterPaths({ path, lastTakesRest }: Operation): string[] {
  const plain = path.replaceAll(/\{(\w+)\}/g, ':$1');
  return lastTakesRest ? [plain, plain.replace(/:\w+$/, '*')] : [plain];
}

type Known = { operation: Operation; matches: (url: string) => boolean };
type Path = { operation: Operation; segments: readonly string[]; pattern: RegExp };

/**
 * The router reads the target as it was sent, and in odd URLs looks for the path at the wrong place; the boundary reads the
 * URL, in which dots and backslashes are resolved. Only where both find the same operation is there one: of several that
 * fit, the one with the most literal path. A placeholder for a workspace fits the gateway's paths as well, which are not
 * meant.
 */
function createMatchers(operations: readonly Operation[], openAiPaths: OpenAiPaths): Known[] {
  const paths = operations.map(
    (operation): Path => ({
      operation,
      segments: operation.path.split('/'),
      pattern: toUrlPattern(operation),
    }),
  );
  return paths.map((path) => {
    const { operation } = path;
    const isMeant = operation.errorShape !== undefined || !/^\/(?:v1\/)?\{/.test(operation.path);
    const pattern = isMeant ? path.pattern : toUrlPattern(operation, openAiPaths.own);
    let preferred: RegExp[] | undefined;
    const matches = (url: string): boolean => {
      if (!pattern.test(url)) return false;
      // By the first request: a start would compare all operations with one another.
      preferred ??= paths.filter((other) => isPreferred(other, path)).map((other) => other.pattern);
      return !preferred.some((other) => other.test(url));
    };
    return { operation, matches };
  });
}

/**
 * Fits the URLs of requests whose path is this one of an operation, segment by segment, an outer slash behind it or not; those
 * that fit `except` are left out. Where the Host is absent or malformed, the URL is a path alone.
 */
function toUrlPattern({ path, lastTakesRest }: Operation, except?: RegExp): RegExp {
  const segments = path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/?]+');
  const escaped = lastTakesRest ? segments.replace(/\[\^\/\?\]\+$/, '[^/?][^?]*') : segments;
  const others = except === undefined ? '' : `(?!${except.source.slice(1)})`;
  return new RegExp(`^${others}(?:[a-z]+://[^/]*)?${escaped}${path === '/' ? '' : '/?'}(?:\\?|$)`);
}

/** Whether a path fits both, and the router takes it for the other one's: that is literal where they first differ. */
function isPreferred(other: Path, { operation, segments }: Path): boolean {
  const others = other.segments;
  if (other.operation.method !== operation.method || others.length !== segments.length) return false;
  const isOpen = (segment = ''): boolean => segment.startsWith('{');
  const overlap = segments.every((each, at) => each === others[at] || isOpen(each) || isOpen(others[at]));
  if (!overlap) return false;
  const first = segments.findIndex((each, at) => isOpen(each) !== isOpen(others[at]));
  return first !== -1 && !isOpen(others[first]);
}

/** What no operation answers: preflights, known paths asked with another method, and unknown paths. */
function unmatchedRoute(
  known: readonly Known[],
  { cors, openAiPaths }: { cors: Cors; openAiPaths: OpenAiPaths },
): Route {
  return route(
    {
      id: 'http.unmatched',
      work: 'exempt',
      method: 'GET',
      path: '*',
      area: 'http',
      summary: 'No such operation',
      credential: 'none',
      responses: {},
    },
    ({ request }) => {
      const preflight = request.method === 'OPTIONS' ? cors.preflight(request) : undefined;
      if (preflight !== undefined) return preflight;
      const { method, url } = request;
      const allowed = new Set(
        known.filter(({ matches }) => matches(url)).map(({ operation }) => operation.method),
      );
      const isKnown = allowed.size > 0 && !allowed.has(method as Method);
      if (openAiPaths.own.test(url) && isKnown) return notAllowed(METHOD_NOT_ALLOWED_OPENAI_ERROR, allowed);
      if (openAiPaths.any.test(url))
        return Response.json(unknownUrlOpenAiError(method, splitTarget(url).path), { status: 404 });
      if (!isKnown) throw notFound('Not Found');
      return notAllowed({ detail: 'Method Not Allowed' }, allowed);
    },
  );
}

const notAllowed = (body: object, allowed: ReadonlySet<Method>): Response =>
  Response.json(body, { status: 405, headers: { allow: [...allowed].join(', ') } });
