import type { Static, TObject, TSchema } from '@sinclair/typebox';
import type { Principal, Scope } from '../core/principal.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Where a caller's credential travels; `http/credentials.ts` says how each is read. */
export type CredentialKind =
  | 'api-key-header'
  | 'svc-key'
  | 'key-or-token'
  | 'administration'
  | 'metrics'
  | 'models'
  | 'none';

/** One documented answer: its meaning, and the schema of its JSON body (none: no body). */
export type ResponseSpec = {
  description: string;
  schema?: TSchema;
  /** A function where it depends on what is configured; it is called whenever the document is made. */
  example?: unknown;
  /** Without a schema: of the body. */
  mediaType?: string;
  /** An example of the server-sent events that the body is where the caller asks for them. */
  stream?: string;
};

/**
 * One operation of the interface, stated once: the router, the request parser, the access log, the metrics
 * and the OpenAPI document are all made from it.
 */
export type Operation<
  Path extends TObject = TObject,
  Query extends TObject = TObject,
  Body extends TSchema = TSchema,
> = {
  /** `area.verb`, unique; the operationId of the OpenAPI document. */
  id: string;
  method: Method;
  /** With `{placeholders}`, as the interface writes it. */
  path: string;
  area: string;
  summary: string;
  description?: string;
  credential: CredentialKind;
  scope?: Scope;
  /** How refusals are written; `openai-but-validation` leaves 422s as the interface has them. */
  errorShape?: 'openai' | 'openai-but-validation';
  /** Types of the usage events that it may cause. */
  events?: readonly string[];
  /** It goes on while the database is away, for keys that were good before. */
  allowsStaleAuthentication?: true;
  /** No idle time-out cuts it: it may work for long before it says anything. */
  noIdleTimeout?: true;
  parameters: Path;
  /** The placeholder at the path's end takes all that is left of a URL, slashes included. */
  lastTakesRest?: true;
  query: Query;
  /** Absent: the request's body is not read. */
  body?: Body;
  /** Ceiling of the body where it is not the ordinary one. */
  bodyBytesMax?: number;
  bodyExample?: unknown;
  /** Media types of a body that the operation reads itself, for the documentation. */
  bodyContent?: Record<string, { schema: TSchema; example: unknown }>;
  /** An absent body stands for `{}`. */
  bodyOptional?: true;
  responses: Record<number, ResponseSpec>;
};

/** What a handler gets: parsed, checked and authorised. */
export type Input<Path extends TObject, Query extends TObject, Body extends TSchema> = {
  path: Static<Path>;
  query: Static<Query>;
  /** Undefined where the operation reads no body. */
  body: Static<Body>;
  /** The caller; reading it throws when the operation asks for no credential. */
  principal: Principal;
  request: Request;
  /** As the logs have it: the caller's own where it is fit for them. */
  requestId: string;
};

/**
 * Says for whom a signed token speaks that is none of our keys. Throws 401 for one that is not good, and 404 where there
 * is nothing that it could be good for.
 */
export type VerifyToken<Path extends TObject> = (token: string, path: Static<Path>) => Promise<Principal>;

export type Route = {
  operation: Operation;
  /** Of an operation with the credential `key-or-token`. */
  verifyToken?: VerifyToken<TObject>;
  handle(input: Input<TObject, TObject, TSchema>): Promise<Response> | Response;
};

/** Binds a handler to its operation, with the handler's input typed by the operation's schemas. */
export function route<Path extends TObject, Query extends TObject, Body extends TSchema>(
  operation: Operation<Path, Query, Body>,
  handle: (input: Input<Path, Query, Body>) => Promise<Response> | Response,
  verifyToken?: VerifyToken<Path>,
): Route {
  return {
    operation,
    handle: handle as Route['handle'],
    ...(verifyToken === undefined ? {} : { verifyToken: verifyToken as VerifyToken<TObject> }),
  };
}

/** A JSON answer. */
export const reply = (status: number, body: unknown, headers?: Record<string, string>): Response =>
  Response.json(body, { status, ...(headers === undefined ? {} : { headers }) });

export const noContent = (headers?: Record<string, string>): Response =>
  new Response(null, { status: 204, ...(headers === undefined ? {} : { headers }) });
