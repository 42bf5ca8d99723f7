// Operations as areas still write them, and the adapter that makes routes of Elysia from them.

import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import type { Author, RequestOrigin } from '../core/author.ts';
import type { Principal, Scope } from '../core/principal.ts';
import type { TraceContext } from '../core/trace-context.ts';
import type { Work } from './admission/work.ts';
import type { Http } from './http.ts';
import { answer, bytes, json, parameters } from './input.ts';
import type { CredentialKind, Method } from './routes.ts';
import type { RefusalStatus, Responses } from './schemas.ts';
import { withErrors } from './schemas.ts';
import { stateOf } from './state.ts';

const NO_BYTES: Uint8Array = new Uint8Array();

type OperationBase = {
  id: string;
  method: Method;
  path: string;
  area: string;
  summary: string;
  description?: string;
  credential: CredentialKind;
  scope?: Scope;
  errorShape?: 'openai' | 'openai-but-validation';
  events?: readonly string[];
  audits?: readonly string[];
  notesAddress?: true;
  allowsStaleAuthentication?: true;
  work?: Work;
  noIdleTimeout?: true;
  lastTakesRest?: true;
  bodyBytesMax?: number;
  bodyExample?: unknown;
  bodyContent?: Record<string, { schema: TSchema; example: unknown }>;
  bodyInflates?: true;
  bodyOptional?: true;
  responses: Responses;
};

export type OperationSpec<
  Path extends TObject,
  Query extends TObject,
  Body extends TSchema,
> = OperationBase & {
  parameters?: Path;
  query?: Query;
  body?: Body;
  refusals?: readonly RefusalStatus[];
};

/** The input of a handler: parsed, validated and authorised. Its members are to be named: a spread leaves some out. */
export type Input<Path extends TObject, Query extends TObject, Body extends TSchema> = {
  path: Static<Path>;
  query: Static<Query>;
  body: Static<Body>;
  bytes: Uint8Array;
  principal: Principal;
  author: Author;
  origin: RequestOrigin;
  request: Request;
  requestId: string;
  called?: string | undefined;
  trace?: TraceContext | undefined;
  keepPermit?(): () => void;
};

export type VerifyToken<Path extends TObject> = (token: string, path: Static<Path>) => Promise<Principal>;

export type Route = {
  operation: OperationSpec<TObject, TObject, TSchema>;
  verifyToken?: VerifyToken<TObject>;
  handle(input: Input<TObject, TObject, TSchema>): unknown;
  status: number;
};

type None = TObject<Record<never, never>>;

export function route<
  Path extends TObject = None,
  Query extends TObject = None,
  Body extends TSchema = TSchema,
>(
  spec: OperationSpec<Path, Query, Body>,
  handle: (input: Input<Path, Query, Body>) => unknown,
  verifyToken?: VerifyToken<Path>,
): Route {
  return {
    operation: spec as Route['operation'],
    handle: handle as Route['handle'],
    status: Number(Object.keys(spec.responses)[0]),
    ...(verifyToken === undefined ? {} : { verifyToken: verifyToken as VerifyToken<TObject> }),
  };
}

export const noContent = (headers: Record<string, string> = {}): Response =>
  new Response(null, { status: 204, headers });

/** The paths of the routes that need no key, as Elysia writes them. */
export const openPathsOf = (routes: readonly Route[]): string[] =>
  routes
    .filter(({ operation }) => operation.credential === 'none')
    .flatMap(({ operation }) => toPaths(operation));

function toPaths({ path, lastTakesRest }: OperationBase): string[] {
  const plain = path.replaceAll(/\{(\w+)\}/g, ':$1');
  return lastTakesRest ? [plain, plain.replace(/:\w+$/, '*')] : [plain];
}

export function adapt({ plugin }: Http, routes: readonly Route[]) {
  const app = new Elysia().use(plugin);
  for (const each of routes) {
    for (const path of toPaths(each.operation))
      (app as { route(...given: unknown[]): unknown }).route(
        each.operation.method,
        path,
        toHandler(each),
        toHook(each, path),
      );
  }
  return app;
}

const toHandler =
  ({ handle, status }: Route) =>
  async ({ request, body }: { request: Request; body: unknown }): Promise<Response> => {
    const state = stateOf(request);
    const input = Object.create(state, {
      path: { value: state.parameters.path },
      query: { value: state.parameters.query },
      body: { value: body },
      bytes: { value: body instanceof Uint8Array ? body : NO_BYTES },
      request: { value: request },
      called: { set: (called: string) => (state.called = called), get: () => state.called },
      keepPermit: { value: () => state.keepPermit() },
    }) as Input<TObject, TObject, TSchema>;
    const result = await handle(input);
    if (result instanceof Response) return result;
    return status === 204 ? new Response(null, { status }) : Response.json(result, { status });
  };

function toHook({ operation, verifyToken }: Route, path: string): Record<string, unknown> {
  const {
    credential,
    scope,
    allowsStaleAuthentication: stale,
    errorShape: errors,
    notesAddress: keepsAddress,
  } = operation;
  const {
    work,
    events,
    audits,
    noIdleTimeout,
    bodyBytesMax: bytesMax,
    bodyContent,
    bodyOptional: optional,
  } = operation;
  const sizes = bytesMax === undefined ? {} : { bytesMax };
  const body =
    bodyContent !== undefined
      ? bytes(bodyContent, { ...sizes, inflates: operation.bodyInflates === true })
      : operation.body &&
        json(operation.body, { ...sizes, example: operation.bodyExample, optional: optional === true });
  const responses =
    errors === undefined ? withErrors(operation.responses, operation.refusals ?? []) : operation.responses;
  const hook = {
    ...(credential === 'none' ? {} : { key: { in: credential, scope, stale, verify: verifyToken } }),
    work,
    errors,
    events,
    audits,
    keepsAddress,
    noIdleTimeout,
    params: parameters(operation.parameters ?? Type.Object({})),
    query: parameters(operation.query ?? Type.Object({})),
    body,
    response: Object.fromEntries(Object.entries(responses).map(([status, spec]) => [status, answer(spec)])),
    detail: {
      operationId: operation.id,
      tags: [operation.area],
      summary: operation.summary,
      description: operation.description,
      hide: path.endsWith('*'),
    },
  };
  return Object.fromEntries(Object.entries(hook).filter(([, value]) => value !== undefined));
}
