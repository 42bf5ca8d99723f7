// Elysia's routes as operations: what the plugins, the metrics and the OpenAPI document need to know of each, read once from what
// its route states.

import { type TObject, type TSchema, Type } from '@sinclair/typebox';
import type { Principal, Scope } from '../core/principal.ts';
import type { Work } from './admission.ts';
import {
  type BodySpec,
  type RefusalStatus,
  type ResponseSpec,
  type Responses,
  SPEC,
  withErrors,
} from './schemas.ts';

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

/** What a route states, as the plugins, the metrics and the OpenAPI document read it. Its optional members are undefined where it states none. */
export type Operation = {
  /** `area.verb`, unique; the operationId of the OpenAPI document. */
  id: string;
  method: Method;
  /** With `{placeholders}`, as the interface writes it. */
  path: string;
  area: string;
  summary: string;
  description: string | undefined;
  credential: CredentialKind;
  scope: Scope | undefined;
  allowsStaleAuthentication: true | undefined;
  verifyToken: VerifyToken | undefined;
  errorShape: ErrorShape | undefined;
  events: readonly string[] | undefined;
  audits: readonly string[] | undefined;
  keepsAddress: true | undefined;
  work: Work;
  noIdleTimeout: true | undefined;
  /** The last placeholder takes all that is left of a URL, slashes included. */
  lastTakesRest: boolean;
  /** The OpenAPI document leaves it out. */
  isHidden: boolean;
  parameters: TObject;
  query: TObject;
  body: BodySpec | undefined;
  responses: Responses;
};

/** Where a route looks for the key of its caller, and what the key needs. */
export type KeySpec = {
  in: Exclude<CredentialKind, 'none'>;
  scope?: Scope;
  /** A key that was valid before is accepted during an outage of the database. */
  stale?: true;
  /** With `in: 'key-or-token'`: checks a signed token that is no API key. */
  verify?: VerifyToken;
};

/** How a route writes refusals; `openai-but-validation` leaves 422s as the interface has them. */
export type ErrorShape = 'openai' | 'openai-but-validation';

/** What routes may state beside Elysia's own options. */
export type RouteOptions = {
  key?: KeySpec;
  work?: Work;
  errors?: ErrorShape;
  /** Types of the usage events that it may cause. */
  events?: readonly string[];
  /** Actions that it writes to the audit log. */
  audits?: readonly string[];
  /** It keeps the address of its caller elsewhere than in the audit log. */
  keepsAddress?: true;
  /** No idle time-out applies until the answer begins, because that may take long. A stream is never silent for a minute. */
  noIdleTimeout?: true;
};

/** A route as `app.routes` has it. */
export type ElysiaRoute = { method: string; path: string; hooks: Record<string, unknown> };

type Detail = {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: string[];
  hide?: boolean;
};

const NONE = Type.Object({});

/**
 * The operation of a route. Throws where the route names no key and is not among the open ones, or where it has a schema that Elysia
 * would check by its own rules.
 */
export function toOperation({ method, path, hooks }: ElysiaRoute, openRoutes: readonly string[]): Operation {
  const { params, query, body, response, detail = {}, credential, ...options } = hooks as RouteHooks;
  const { in: kind = 'none', scope, stale, verify } = credential ?? {};
  if (kind === 'none' && !openRoutes.includes(`${method} ${path}`))
    throw new Error(`${method} ${path} names no key, and is not an open route`);
  for (const schema of [params, query, body, ...Object.values(response ?? {})])
    if (schema !== undefined && !('~standard' in schema))
      throw new Error(`${method} ${path} has a schema that http/input.ts did not make`);
  const area = detail.tags?.at(-1) ?? '';
  const operation: Operation = {
    id: detail.operationId ?? `${method} ${path}`,
    method: method as Method,
    path: toTemplate(path, params),
    area,
    summary: detail.summary ?? '',
    description: detail.description,
    credential: kind,
    scope,
    allowsStaleAuthentication: stale,
    verifyToken: verify,
    errorShape: options.errors,
    events: options.events,
    audits: options.audits,
    keepsAddress: options.keepsAddress,
    work: options.work ?? (area === 'health' ? 'exempt' : method === 'GET' ? 'read' : 'write'),
    noIdleTimeout: options.noIdleTimeout,
    lastTakesRest: path.endsWith('/*'),
    isHidden: detail.hide === true,
    parameters: params ?? NONE,
    query: query ?? NONE,
    body: body && specOf<BodySpec>(body),
    responses: {},
  };
  operation.responses = responsesOf(operation, response);
  return operation;
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

type RouteHooks = Omit<RouteOptions, 'key'> & {
  params?: TObject;
  query?: TObject;
  body?: TSchema;
  response?: Record<string, TSchema>;
  detail?: Detail;
  credential?: KeySpec;
};

/** Elysia's path as the interface writes it; `*` stands for the last parameter. */
function toTemplate(path: string, params: TObject | undefined): string {
  const last = Object.keys(params?.properties ?? {}).at(-1) ?? 'rest';
  return path.replaceAll(/:(\w+)/g, '{$1}').replace(/\*$/, `{${last}}`);
}

const specOf = <Spec>(schema: object): Spec | undefined => (schema as { [SPEC]?: Spec })[SPEC];

function responsesOf(operation: Operation, response: Record<string, TSchema> | undefined): Responses {
  const stated: Responses = {};
  for (const [status, schema] of Object.entries(response ?? {}))
    stated[Number(status)] = specOf<ResponseSpec>(schema) ?? { description: '' };
  return operation.errorShape === undefined ? withErrors(stated, impliedRefusals(operation)) : stated;
}

/** The refusals that follow from what a route takes. */
function impliedRefusals({ credential, scope, parameters, query, body }: Operation): RefusalStatus[] {
  const hasFields = ({ properties }: TObject): boolean => Object.keys(properties).length > 0;
  // A closed query refuses every other parameter.
  const takesQuery = hasFields(query) || query.additionalProperties === false;
  return [
    ...(credential === 'none' ? [] : ([401, 503] as const)),
    ...(scope === undefined ? [] : ([403] as const)),
    ...(body === undefined ? [] : ([408, 413, 415] as const)),
    ...(body !== undefined || hasFields(parameters) || takesQuery ? ([422] as const) : []),
  ];
}
