// The routes of an application, read once from Elysia: what each takes, and what is answered where none fits.

import { NotFoundError } from 'elysia';
import { notFound } from '../core/errors.ts';
import type { Cors } from './cors.ts';
import { METHOD_NOT_ALLOWED_OPENAI_ERROR, unknownUrlOpenAiError } from './openai-error.ts';
import { createOpenAiPaths, type OpenAiPaths } from './openai-paths.ts';
import { createParameterParser, type ParameterParser, splitTarget } from './request.ts';
import { type ElysiaRoute, NONE, type Operation, toOperation } from './routes.ts';

type Known = { operation: Operation; parse: ParameterParser; pattern: RegExp };

/** What does not exist there is told as clients of OpenAI's API expect it. */
const BELOW_V1 = /^(?:[a-z]+:\/\/[^/]*)?\/v1(?:[/?]|$)/;

export type RouteTable = ReturnType<typeof createRouteTable>;

export function createRouteTable(cors: Cors) {
  const byRoute = new Map<string, Known>();
  let openAiPaths: OpenAiPaths = createOpenAiPaths([]);

  return {
    /** Reads the routes of the application; those of `openRoutes` need no key. Throws for one that is not safe (routes.ts). */
    read(routes: readonly ElysiaRoute[], openRoutes: readonly string[]): void {
      for (const route of routes) {
        const operation = toOperation(route, openRoutes);
        byRoute.set(`${route.method} ${route.path}`, {
          operation,
          parse: createParameterParser(operation),
          pattern: toUrlPattern(route.path),
        });
      }
      openAiPaths = createOpenAiPaths(this.operations());
    },
    operations: (): Operation[] => [...byRoute.values()].map(({ operation }) => operation),
    /**
     * The route that Elysia has chosen. Throws as Elysia does for an unknown path where the path of the URL is none of it: a workspace cannot have the name of a
     * part of OpenAI's API, and the URL of a request with an odd Host or target has another path than the router found.
     */
    of(request: Request, path: string): Known {
      const method = request.method === 'HEAD' ? 'GET' : request.method;
      const known = byRoute.get(`${method} ${path}`) ?? byRoute.get(`ALL ${path}`);
      if (known === undefined) throw new Error(`${request.method} ${path} is not in the table of routes`);
      const { operation, pattern } = known;
      const isMeant =
        pattern.test(request.url) && !(startsWithWorkspace(operation) && openAiPaths.own.test(request.url));
      if (!isMeant) throw new NotFoundError();
      return known;
    },
    /** The answer where no route fits: to a preflight, to another method of a known path, and to unknown paths (a refusal). */
    answerUnmatched(request: Request): Response | Error {
      const preflight = request.method === 'OPTIONS' ? cors.preflight(request) : undefined;
      if (preflight !== undefined) return preflight;
      const { method, url } = request;
      const allowed = new Set<string>();
      for (const { operation, pattern } of byRoute.values())
        if (pattern.test(url) && !(startsWithWorkspace(operation) && openAiPaths.own.test(url)))
          allowed.add(operation.method);
      const isKnown = allowed.size > 0 && !allowed.has(method);
      if (openAiPaths.own.test(url) && isKnown) return notAllowed(METHOD_NOT_ALLOWED_OPENAI_ERROR, allowed);
      if (openAiPaths.any.test(url) || (!isKnown && BELOW_V1.test(url)))
        return Response.json(unknownUrlOpenAiError(method, splitTarget(url).path), { status: 404 });
      return isKnown ? notAllowed({ detail: 'Method Not Allowed' }, allowed) : notFound('Not Found');
    },
    /** Stands for all requests that no route answers. */
    unmatched: UNMATCHED,
  };
}

const UNMATCHED: Operation = {
  id: 'http.unmatched',
  method: 'GET',
  path: '*',
  area: 'http',
  summary: 'No such operation',
  description: undefined,
  credential: 'none',
  scope: undefined,
  allowsStaleAuthentication: undefined,
  verifyToken: undefined,
  errorShape: undefined,
  events: undefined,
  audits: undefined,
  keepsAddress: undefined,
  work: 'exempt',
  noIdleTimeout: undefined,
  lastTakesRest: false,
  isHidden: true,
  parameters: NONE,
  query: NONE,
  body: undefined,
  responses: {},
};

const startsWithWorkspace = ({ errorShape, path }: Operation): boolean =>
  errorShape === undefined && /^\/(?:v1\/)?\{/.test(path);

/** Fits the URLs of requests whose path is this one, segment by segment, an outer slash behind it or not. */
function toUrlPattern(path: string): RegExp {
  const segments = path.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/?]+').replace(/\*$/, '[^/?][^?]*');
  return new RegExp(
    `^(?:[a-z]+://[^/]*)?${segments.replace(/(?<=.)\/$/, '')}${path === '/' ? '' : '/?'}(?:\\?|$)`,
  );
}

const notAllowed = (body: object, allowed: ReadonlySet<string>): Response =>
  Response.json(body, { status: 405, headers: { allow: [...allowed].join(', ') } });
