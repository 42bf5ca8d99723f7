// The steps of every request: request id → credential → parameters → body → its turn → operation → answer → log and metrics.
// All errors of handlers are caught here.

import { type ErrorKind, ServiceError, toError, unavailable, ValidationFailure } from '../core/errors.ts';
import type { OnInterrupt } from '../core/interruption.ts';
import type { AccessLog, Logger } from '../core/logger.ts';
import { Ring } from '../core/ring.ts';
import { inTrace, unsampledFields } from '../core/tracing.ts';
import { type Admission, Overloaded } from './admission/admission.ts';
import { readBody, readDecodedBody } from './body.ts';
import { bodyMemory } from './body-memory.ts';
import type { Cors } from './cors.ts';
import { type Authenticators, authorize, challengeOf, identify } from './credentials.ts';
import { type Connections, Exchange, REQUEST_ID } from './exchange.ts';
import { JSON_BODY_BYTES_MAX } from './limits.ts';
import type { RequestMetrics } from './metrics.ts';
import {
  INTERNAL_OPENAI_ERROR,
  OpenAiRefusal,
  toOpenAiError,
  toOpenAiValidationError,
} from './openai-error.ts';
import { type Operation, type Route, reply } from './operation.ts';
import { createRequestParser, type RequestParser, showPath } from './request.ts';
import { createRequestTrace, endRequestTrace } from './request-trace.ts';
import { STATUS } from './statuses.ts';

export type Boundary = {
  /** Wraps a route so that it answers every request, also after an error. */
  guard(route: Route): Guarded;
  /** Refuses new requests with 503, except those of probes. */
  refuseNewRequests(): void;
  /** The number of requests in progress. */
  running(): number;
};

/** `connections` has the address of the client, which the audit log keeps. */
export type Guarded = (request: Request, connections?: Connections | null) => Promise<Response>;

export type BoundaryDeps = {
  authenticators: Authenticators;
  /** Undefined: every request is begun at once. */
  admission?: Admission;
  cors: Cors;
  log: Logger;
  access: AccessLog;
  requestMetrics: RequestMetrics;
  /** Converts a failure of a backing service into the refusal that the caller may see. */
  explainFailure(error: unknown): ServiceError | undefined;
  /** At the deadline of a shutdown, the requests in progress are answered 503. */
  onInterrupt: OnInterrupt;
};

export function createBoundary(deps: BoundaryDeps): Boundary {
  let refusing = false;
  /** Ends each request in progress with a 503. */
  const running = new Ring<() => void>();
  deps.onInterrupt(() => {
    for (const interrupt of running.items()) interrupt();
  });

  function guard(route: Route): Guarded {
    const { operation } = route;
    const entrance = { operation, door: deps.admission?.door(operation) };
    const answer = createAnswer(route, deps.authenticators);
    const observe = deps.requestMetrics.route(operation);
    const probe = operation.area === 'health';
    const beginTrace = createRequestTrace(operation);
    const finish = (exchange: Exchange, response: Response): Response => {
      const { request, startedAtMs } = exchange;
      // A handler may answer with the request id of an upstream; then the log has that one, too.
      const { headers } = response;
      const answeredId = headers.get('x-request-id');
      if (answeredId !== null && REQUEST_ID.test(answeredId)) exchange.requestId = answeredId;
      else headers.set('x-request-id', exchange.requestId);
      deps.cors.mark(request, response);
      const durationMs = performance.now() - startedAtMs;
      observe(response.status, durationMs);
      deps.access({
        method: request.method,
        route: operation.path,
        path: () => showPath(request.url),
        status: response.status,
        ms: Math.round(durationMs * 1000) / 1000,
        requestId: exchange.requestId,
        keyId: exchange.caller?.keyId || undefined,
        called: exchange.called,
        trace: exchange.trace,
      });
      if (exchange.trace !== undefined) endRequestTrace(exchange.trace, exchange, response.status);
      return response;
    };
    return (request, connections) =>
      new Promise((resolve) => {
        const exchange = new Exchange(request, entrance, connections);
        const interrupt = (): void => end(shuttingDown(operation));
        const end = (response: Response | undefined, error?: unknown): void => {
          exchange.leave();
          if (!running.remove(link)) return;
          bodyMemory.release(request);
          try {
            resolve(finish(exchange, response ?? renderFailure(error, { exchange, operation, deps })));
          } catch (failure) {
            // The log may be what fails: the cause goes to standard error.
            process.emitWarning(toError(failure));
            resolve(internalError(operation, { 'x-request-id': exchange.requestId }));
          }
        };
        const link = running.add(interrupt);
        const begin = (): unknown => answer(exchange).then(end, (error) => end(undefined, error));
        exchange.trace = beginTrace(request);
        if (refusing && !probe) interrupt();
        // The place of a trace that is not sampled is of use to upstreams alone: routes that ask them take it from the input.
        else if (exchange.trace?.isSampled) inTrace(exchange.trace, begin);
        else begin();
      });
  }

  return {
    guard,
    refuseNewRequests: () => {
      refusing = true;
    },
    running: () => running.size,
  };
}

function createAnswer(route: Route, authenticators: Authenticators) {
  const { operation, handle } = route;
  // By the first request: a start would wait for the parsers of all operations.
  let parser: RequestParser | undefined;
  const readsBytes = createBytesReader(operation);
  return async (exchange: Exchange): Promise<Response> => {
    const { request } = exchange;
    parser ??= createRequestParser(operation);
    const parameters = parser.parameters(request.url);
    exchange.path = parameters.path;
    exchange.query = parameters.query;
    if (operation.credential !== 'none') {
      const found = identify(request, route, { authenticators, parameters });
      exchange.caller = found instanceof Promise ? await found : found;
      authorize(exchange.caller, operation, parameters.path['workspace_id']);
    }
    if (parameters.entries.length > 0) throw new ValidationFailure(parameters.entries);
    // A body that arrives slowly takes no permit.
    if (operation.body !== undefined) exchange.body = await parser.body(request);
    else if (readsBytes !== undefined) exchange.bytes = await readsBytes(request);
    const entering = exchange.enter();
    if (entering !== undefined) await entering;
    return await handle(exchange);
  };
}

/** Of an operation that parses its body itself. */
function createBytesReader({
  bodyContent,
  bodyInflates,
  bodyBytesMax = JSON_BODY_BYTES_MAX,
}: Operation): ((request: Request) => Promise<Uint8Array>) | undefined {
  if (bodyContent === undefined) return undefined;
  const read = bodyInflates ? readDecodedBody : readBody;
  return (request) => read(request, bodyBytesMax);
}

function renderFailure(
  error: unknown,
  { exchange, operation, deps }: { exchange: Exchange; operation: Operation; deps: BoundaryDeps },
): Response {
  const { errorShape } = operation;
  if (error instanceof ValidationFailure)
    return errorShape === 'openai'
      ? reply(400, toOpenAiValidationError(error))
      : reply(422, { detail: error.entries });
  const refusal = error instanceof ServiceError ? error : deps.explainFailure(error);
  const { requestId, trace } = exchange;
  const context = { request_id: requestId, ...unsampledFields(trace), route: operation.path };
  if (refusal === undefined) {
    deps.log.error({ ...context, err: error }, 'unexpected failure');
    return internalError(operation);
  }
  if (NOT_OF_CALLER.has(refusal.kind) && !(refusal instanceof Overloaded))
    deps.log.warn({ ...context, err: refusal.cause ?? error }, refusal.message);
  return renderRefusal(refusal, operation);
}

const internalError = ({ errorShape }: Operation, headers?: Record<string, string>): Response =>
  reply(500, errorShape === undefined ? { detail: 'Internal Server Error' } : INTERNAL_OPENAI_ERROR, headers);

/** Refusals that the caller has not caused; the log has their causes. */
const NOT_OF_CALLER: ReadonlySet<ErrorKind> = new Set(['unavailable', 'upstream-failed', 'upstream-timeout']);

function renderRefusal(refusal: ServiceError, { errorShape, credential }: Operation): Response {
  const body = errorShape === undefined ? { detail: refusal.message } : toOpenAiError(refusal);
  const response = reply(STATUS[refusal.kind], body);
  if (refusal instanceof OpenAiRefusal) {
    for (const [name, value] of Object.entries(refusal.details.headers ?? {}))
      response.headers.set(name, value);
  }
  if (refusal.kind === 'unauthenticated') response.headers.set('www-authenticate', challengeOf(credential));
  if (refusal.kind === 'request-timeout') response.headers.set('connection', 'close');
  if (refusal.retryAfterSeconds !== undefined)
    response.headers.set('retry-after', String(refusal.retryAfterSeconds));
  return response;
}

function shuttingDown(operation: Operation): Response {
  const response = renderRefusal(unavailable('The service is shutting down'), operation);
  response.headers.set('connection', 'close');
  return response;
}
