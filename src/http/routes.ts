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
  /** What the route states as `key` (plugin.ts). */
  credential?: KeySpec;
  work?: Work;
  errors?: ErrorShape;
  events?: readonly string[];
  audits?: readonly string[];
  keepsAddress?: true;
  noIdleTimeout?: true;
};

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
    /** It keeps the address of its caller elsewhere than in the audit log. */
    keepsAddress: stated.keepsAddress,
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
