import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox';
import type { Author, RequestOrigin } from '../core/author.ts';
import type { Principal, Scope } from '../core/principal.ts';
import type { TraceContext } from '../core/trace-context.ts';
import type { Work } from './admission/work.ts';
import { type RefusalStatus, type Responses, withErrors } from './schemas.ts';

export const NO_BYTES: Uint8Array = new Uint8Array();

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The place of a caller's credential; `http/credentials.ts` reads each kind. */
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

/** What an operation states, whether its schemas and answers are complete or not. */
type OperationBase = {
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
  /** Actions that it writes to the audit log; none where an operation of the administration changes nothing of it. */
  audits?: readonly string[];
  /** It keeps the address of its caller elsewhere. */
  notesAddress?: true;
  /** The operation works during an outage of the database, for keys that were valid before. */
  allowsStaleAuthentication?: true;
  /** Its class of work, where its method and area do not say it (`admission/work.ts`). */
  work?: Work;
  /** No idle time-out applies until the answer begins, because that may take long. A stream is never silent for a minute. */
  noIdleTimeout?: true;
  /** The placeholder at the path's end takes all that is left of a URL, slashes included. */
  lastTakesRest?: true;
  /** Ceiling of the body where it is not the ordinary one. */
  bodyBytesMax?: number;
  bodyExample?: unknown;
  /** Media types of a body that the operation parses itself: it gets the bytes. */
  bodyContent?: Record<string, { schema: TSchema; example: unknown }>;
  /** Such a body may be compressed with gzip. */
  bodyInflates?: true;
  /** An absent body stands for `{}`. */
  bodyOptional?: true;
  responses: Responses;
};

/**
 * One operation of the interface, stated once: the router, the request parser, the access log, the metrics
 * and the OpenAPI document are all made from it.
 */
export type Operation = OperationBase & {
  parameters: TObject;
  query: TObject;
  /** Absent: the request's body is not read. */
  body?: TSchema;
};

/** An operation as an area writes it: `route` adds what follows from the rest. */
export type OperationSpec<
  Path extends TObject,
  Query extends TObject,
  Body extends TSchema,
> = OperationBase & {
  parameters?: Path;
  query?: Query;
  body?: Body;
  /**
   * Statuses of refusals beside those that follow from its credential, its parameters and its body. An operation with an
   * `errorShape` lists all its refusals in `responses`.
   */
  refusals?: readonly RefusalStatus[];
};

/** The input of a handler: parsed, validated and authorised. Its members are to be named: a spread leaves some out. */
export type Input<Path extends TObject, Query extends TObject, Body extends TSchema> = {
  path: Static<Path>;
  query: Static<Query>;
  /** Undefined where the operation reads no body. */
  body: Static<Body>;
  /** The body of an operation with `bodyContent`; empty for others. */
  bytes: Uint8Array;
  /** The caller; reading it throws when the operation asks for no credential. */
  principal: Principal;
  /** The caller as the audit log names it; likewise. */
  author: Author;
  /** Its address is null but of operations that are audited, or note it. */
  origin: RequestOrigin;
  request: Request;
  /** The request id of the log: the caller's own where it is valid. */
  requestId: string;
  /** For an operation that stands for several: the name of the one that was called. The handler sets it for the log. Visible ASCII without quotes. */
  called?: string | undefined;
  /** The place of the request in a trace; undefined without tracing. Only of a sampled one it is the current one. */
  trace?: TraceContext | undefined;
  /** For an answer that goes on as a stream: the request counts as running until the returned function is called. */
  keepPermit?(): () => void;
};

/**
 * The principal of a signed token that is no API key. Throws 401 for an invalid token, and 404 where the path names nothing
 * that tokens could be for.
 */
export type VerifyToken<Path extends TObject> = (token: string, path: Static<Path>) => Promise<Principal>;

export type Route = {
  operation: Operation;
  /** Of an operation with the credential `key-or-token`. */
  verifyToken?: VerifyToken<TObject>;
  /** A Response, or what the boundary answers with `status`. */
  handle(input: Input<TObject, TObject, TSchema>): unknown;
  /** Of the operation's first answer. */
  status: number;
};

const NONE = Type.Object({});
type None = typeof NONE;

/**
 * Binds a handler to its operation, with the handler's input typed by the operation's schemas. The handler returns a
 * Response, or what becomes the JSON body of the operation's first answer (nothing, where that is 204).
 */
export function route<
  Path extends TObject = None,
  Query extends TObject = None,
  Body extends TSchema = TSchema,
>(
  { refusals = [], ...spec }: OperationSpec<Path, Query, Body>,
  handle: (input: Input<Path, Query, Body>) => unknown,
  verifyToken?: VerifyToken<Path>,
): Route {
  const operation: Operation = { ...spec, parameters: spec.parameters ?? NONE, query: spec.query ?? NONE };
  if (operation.errorShape === undefined)
    operation.responses = withErrors(spec.responses, [...impliedRefusals(operation), ...refusals]);
  return {
    operation,
    handle: handle as Route['handle'],
    status: Number(Object.keys(spec.responses)[0]),
    ...(verifyToken === undefined ? {} : { verifyToken: verifyToken as VerifyToken<TObject> }),
  };
}

function impliedRefusals(operation: Operation): RefusalStatus[] {
  const { credential, scope, parameters, query, body, bodyContent } = operation;
  const readsBody = body !== undefined || bodyContent !== undefined;
  const hasFields = ({ properties }: TObject): boolean => Object.keys(properties).length > 0;
  // A closed query refuses every other parameter.
  const takesQuery = hasFields(query) || query.additionalProperties === false;
  return [
    ...(credential === 'none' ? [] : ([401, 503] as const)),
    ...(scope === undefined ? [] : ([403] as const)),
    ...(readsBody ? ([408, 413, 415] as const) : []),
    ...(readsBody || hasFields(parameters) || takesQuery ? ([422] as const) : []),
  ];
}

export const noContent = (headers: Record<string, string> = {}): Response =>
  new Response(null, { status: 204, headers });
