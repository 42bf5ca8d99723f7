// The routes of an application, read once from Elysia: what each takes, and what is answered where none fits.

import { NotFoundError } from 'elysia';
import { notFound } from '../core/errors.ts';
import type { Cors } from './cors.ts';
import { METHOD_NOT_ALLOWED_OPENAI_ERROR, unknownUrlOpenAiError } from './openai-error.ts';
import { type ElysiaRoute, type Operation, toOperation } from './routes.ts';
import { createParameterParser, type ParameterParser, type Parameters, splitTarget } from './url.ts';

/** First segments of paths of OpenAI's API, and of compatible APIs, that no operation of this service has. */
const OPENAI_NAMES = (
  'assistants audio batches containers conversations evals files fine_tuning messages moderations organization realtime ' +
  'rerank responses threads uploads vector_stores videos'
).split(' ');

/** Fits the URLs whose path begins with one of the names; none without names. */
const begins = (names: readonly string[]): RegExp =>
  new RegExp(`^(?:[a-z]+://[^/]*)?(?:/v1)?/(?:${[...new Set(names)].join('|') || '[]'})(?:[/?]|$)`);

/** What does not exist there is told as clients of OpenAI's API expect it. */
const BELOW_V1 = /^(?:[a-z]+:\/\/[^/]*)?\/v1(?:[/?]|$)/;

export class RouteTable {
  private readonly cors: Cors;
  private readonly byRoute = new Map<string, { operation: Operation; parse: ParameterParser }>();
  /** Paths that begin as our operations in OpenAI's shape do: they cannot be operations of another area. */
  private ownPaths = begins([]);
  /** The same, or paths that begin as a part of OpenAI's API that we lack: they may still be operations of another area. */
  private openAiPaths = begins([]);

  constructor(cors: Cors) {
    this.cors = cors;
  }

  /** Reads the routes of the application; `openRoutes` need no key. Throws for one that is not safe (routes.ts). */
  read(routes: readonly ElysiaRoute[], openRoutes: readonly string[]): void {
    for (const route of routes) {
      const operation = toOperation(route, openRoutes);
      this.byRoute.set(`${route.method} ${route.path}`, {
        operation,
        parse: createParameterParser(operation),
      });
    }
    const own = this.operations()
      .filter(({ errorShape, credential }) => errorShape === 'openai' && credential !== 'portal')
      .flatMap(({ path }) => /^(?:\/v1)?\/(\w+)/.exec(path)?.[1] ?? []);
    this.ownPaths = begins(own);
    this.openAiPaths = begins([...own, ...OPENAI_NAMES]);
  }

  operations(): Operation[] {
    return [...this.byRoute.values()].map(({ operation }) => operation);
  }

  /**
   * The route that Elysia has chosen, with the parameters of the URL. Throws as Elysia does for an unknown path where the URL has another
   * path: that of a request with an odd Host or target, or one that begins with a name of OpenAI's API, which no workspace has.
   */
  of({ method, url }: Request, path: string): { operation: Operation; parameters: Parameters } {
    const known =
      this.byRoute.get(`${method === 'HEAD' ? 'GET' : method} ${path}`) ?? this.byRoute.get(`ALL ${path}`);
    if (known === undefined) throw new Error(`${method} ${path} is not in the table of routes`);
    const { operation, parse } = known;
    const parameters = this.isTaken(operation, url) ? undefined : parse(url);
    if (parameters === undefined) throw new NotFoundError();
    return { operation, parameters };
  }

  /** Whether the URL is one of OpenAI's API, though it fits the operation, whose path begins with a workspace. */
  private isTaken({ errorShape, path }: Operation, url: string): boolean {
    return errorShape === undefined && /^\/(?:v1\/)?\{/.test(path) && this.ownPaths.test(url);
  }

  /** The answer where no route fits: to a preflight, to another method of a known path, and to unknown paths (a refusal). */
  answerUnmatched(request: Request): Response | Error {
    const { method, url } = request;
    const preflight = method === 'OPTIONS' ? this.cors.preflight(request) : undefined;
    if (preflight !== undefined) return preflight;
    const fitting = [...this.byRoute.values()].filter(
      ({ operation, parse }) => !this.isTaken(operation, url) && parse(url) !== undefined,
    );
    const allowed = new Set(fitting.map(({ operation }) => operation.method as string));
    const isKnown = allowed.size > 0 && !allowed.has(method);
    if (this.ownPaths.test(url) && isKnown) return notAllowed(METHOD_NOT_ALLOWED_OPENAI_ERROR, allowed);
    if (this.openAiPaths.test(url) || (!isKnown && BELOW_V1.test(url)))
      return Response.json(unknownUrlOpenAiError(method, splitTarget(url).path), { status: 404 });
    return isKnown ? notAllowed({ detail: 'Method Not Allowed' }, allowed) : notFound('Not Found');
  }
}

const notAllowed = (body: object, allowed: ReadonlySet<string>): Response =>
  Response.json(body, { status: 405, headers: { allow: [...allowed].join(', ') } });
