// Elysia's routes as operations: what the plugins, the metrics and the OpenAPI document need to know of each, read once from what
// its route states.

import { type TObject, type TSchema, Type } from '@sinclair/typebox';
import { NotFoundError } from 'elysia';
import type { Principal, Scope } from '../core/principal.ts';
import {
  type BodySpec,
  type RefusalStatus,
  type ResponseSpec,
  type Responses,
  SPEC,
  withErrors,
} from './schemas.ts';
import { createParameterParser, type Parameters } from './url.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The place of a caller's credential; `credentials.ts` reads each kind. */
export type CredentialKind =
  | 'api-key-header'
  | 'svc-key'
  | 'key-or-token'
  | 'administration'
  | 'key'
  | 'portal'
  | 'metrics'
  | 'models'
  | 'none';

/**
 * The principal of a signed token that is no API key. Throws 401 for an invalid token, and 404 where the path names nothing
 * that tokens could be for.
 */
export type VerifyToken = (token: string, path: Record<string, unknown>) => Promise<Principal>;

/** What a route states, as the plugins, the metrics and the OpenAPI document read it. */
export type Operation = ReturnType<typeof toOperation>;

/** Where a route looks for the key of its caller, and what the key needs. */
export type KeySpec = {
  in: Exclude<CredentialKind, 'none'>;
  scope?: Scope;
  /** A key that was valid before is accepted during an outage of the database. */
  stale?: true;
  /** With `in: 'key-or-token'`: checks a signed token that is no API key. */
  verify?: VerifyToken;
};

/** Classes of work, each with its own permits. `heavy`: many rows, or much computation. `model`: waits for others, and may stream for minutes. */
export type LimitedWork = 'read' | 'write' | 'heavy' | 'model';
/** `exempt`: always begun. */
export type Work = 'exempt' | LimitedWork;

/** How a route writes refusals; `openai-but-validation` leaves 422s as the interface has them. */
export type ErrorShape = 'openai' | 'openai-but-validation';

/** A route as `app.routes` has it. */
export type ElysiaRoute = { method: string; path: string; hooks: Record<string, unknown> };

type RouteHooks = {
  params?: TObject;
  query?: TObject;
  body?: TSchema;
  response?: Record<string, TSchema>;
  detail?: { operationId?: string; summary?: string; description?: string; tags?: string[]; hide?: boolean };
  /** What the route states as `key` (credentials.ts). */
  credential?: KeySpec;
  work?: Work;
  errors?: ErrorShape;
  events?: readonly string[];
  audits?: readonly string[];
  keepsAddress?: true;
  noIdleTimeout?: true;
};

const COOKIE_KINDS: readonly CredentialKind[] = ['portal', 'administration'];

const NONE: TObject = Type.Object({});

const specOf = <Spec>(schema: object): Spec | undefined => (schema as { [SPEC]?: Spec })[SPEC];

/**
 * What a route states, with what follows from it. Throws where the route names no key and is not among the open ones, or where it has a
 * schema that Elysia would check by its own rules.
 */
export function toOperation({ method, path, hooks }: ElysiaRoute, openRoutes: readonly string[]) {
  const { params, query, body, response = {}, detail = {}, credential, ...stated } = hooks as RouteHooks;
  const kind: CredentialKind = credential?.in ?? 'none';
  const { scope, stale, verify }: Partial<KeySpec> = credential ?? {};
  if (kind === 'none' && !openRoutes.includes(`${method} ${path}`))
    throw new Error(`${method} ${path} names no key, and is not an open route`);
  for (const schema of [params, query, body, ...Object.values(response)])
    if (schema !== undefined && !('~standard' in schema))
      throw new Error(`${method} ${path} has a schema that http/input.ts did not make`);
  const area = detail.tags?.at(-1) ?? '';
  const takes = {
    credential: kind,
    scope,
    params: params ?? NONE,
    query: query ?? NONE,
    hasBody: body !== undefined,
  };
  const answers = Object.entries(response).map(([status, schema]) => [status, specOf<ResponseSpec>(schema)]);
  const own: Responses = Object.fromEntries(answers);
  return {
    /** `area.verb`, unique; the operationId of the OpenAPI document. */
    id: detail.operationId ?? `${method} ${path}`,
    method: method as Method,
    /** With `{placeholders}`, as the interface writes it; the last one stands for Elysia's `*`. */
    path: path
      .replaceAll(/:(\w+)/g, '{$1}')
      .replace(/\*$/, `{${Object.keys(params?.properties ?? {}).at(-1) ?? 'rest'}}`),
    area,
    summary: detail.summary ?? '',
    description: detail.description,
    /** The OpenAPI document leaves it out. */
    isHidden: detail.hide === true,
    credential: kind,
    scope,
    allowsStaleAuthentication: stale,
    verifyToken: verify,
    errorShape: stated.errors,
    /** Types of the usage events that it may cause. */
    events: stated.events,
    /** Actions that it writes to the audit log. */
    audits: stated.audits,
    /** It keeps the address of its caller, in the audit log or elsewhere, or takes a cookie, whose name depends on the scheme. */
    needsClient: stated.keepsAddress === true || stated.audits !== undefined || COOKIE_KINDS.includes(kind),
    work: stated.work ?? (area === 'health' ? 'exempt' : method === 'GET' ? 'read' : 'write'),
    /** No idle time-out applies until the answer begins, because that may take long. A stream is never silent for a minute. */
    noIdleTimeout: stated.noIdleTimeout,
    /** The last placeholder takes all that is left of a URL, slashes included. */
    lastTakesRest: path.endsWith('/*'),
    parameters: takes.params,
    query: takes.query,
    body: body && specOf<BodySpec>(body),
    responses: stated.errors === undefined ? withErrors(own, impliedRefusals(takes)) : own,
  };
}

/** Stands for all requests that no route answers. */
export const UNMATCHED: Operation = {
  ...toOperation(
    { method: 'GET', path: '*', hooks: { detail: { operationId: 'http.unmatched', tags: ['http'] } } },
    ['GET *'],
  ),
  path: '*',
  work: 'exempt',
};

type Taken = {
  credential: CredentialKind;
  scope: Scope | undefined;
  params: TObject;
  query: TObject;
  hasBody: boolean;
};

/** The refusals that follow from what a route takes. */
function impliedRefusals({ credential, scope, params, query, hasBody }: Taken): RefusalStatus[] {
  const hasFields = ({ properties }: TObject): boolean => Object.keys(properties).length > 0;
  // A closed query refuses every other parameter.
  const takesQuery = hasFields(query) || query.additionalProperties === false;
  return [
    ...(credential === 'none' ? [] : ([401, 503] as const)),
    ...(scope === undefined ? [] : ([403] as const)),
    ...(hasBody ? ([408, 413, 415] as const) : []),
    ...(hasBody || hasFields(params) || takesQuery ? ([422] as const) : []),
  ];
}

/** What does not exist there is told as clients of OpenAI's API expect it. */
const BELOW_V1 = /^(?:[a-z]+:\/\/[^/]*)?\/v1(?:[/?]|$)/;

/** First segments of paths of OpenAI's API, and of compatible APIs, that no operation of this service has. */
const OPENAI_NAMES = (
  'assistants audio batches containers conversations evals files fine_tuning messages moderations organization realtime ' +
  'rerank responses threads uploads vector_stores videos'
).split(' ');

/** Fits the URLs whose path begins with one of the names; none without names. */
const begins = (names: readonly string[]): RegExp =>
  new RegExp(`^(?:[a-z]+://[^/]*)?(?:/v1)?/(?:${[...new Set(names)].join('|') || '[]'})(?:[/?]|$)`);

const toKnown = (operation: Operation) => ({ operation, parse: createParameterParser(operation) });

export class RouteTable {
  private readonly byRoute = new Map<string, ReturnType<typeof toKnown>>();
  /** Paths that begin as our operations in OpenAI's shape do: they cannot be operations of another area. */
  private ownPaths = begins([]);
  /** The same, or paths that begin as a part of OpenAI's API that we lack: they may still be operations of another area. */
  private openAiPaths = begins([]);

  /** Reads the routes of the application; `openRoutes` need no key. Throws for one that is not safe. */
  read(routes: readonly ElysiaRoute[], openRoutes: readonly string[]): void {
    for (const route of routes) {
      this.byRoute.set(`${route.method} ${route.path}`, toKnown(toOperation(route, openRoutes)));
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

  /**
   * What is known of a URL that no route answers with this method: the methods that its path has, and whether clients of OpenAI's API
   * expect the refusal in their shape.
   */
  describeUnmatched({ method, url }: Request): { allowed: readonly string[]; isOpenAi: boolean } {
    const fitting = [...this.byRoute.values()].filter(
      ({ operation, parse }) => !this.isTaken(operation, url) && parse(url) !== undefined,
    );
    const methods = new Set(fitting.map(({ operation }) => operation.method as string));
    const isKnown = methods.size > 0 && !methods.has(method);
    const isOwn = this.ownPaths.test(url) && isKnown;
    if (isOwn) return { allowed: [...methods], isOpenAi: true };
    if (this.openAiPaths.test(url) || (!isKnown && BELOW_V1.test(url)))
      return { allowed: [], isOpenAi: true };
    return { allowed: isKnown ? [...methods] : [], isOpenAi: false };
  }
}
