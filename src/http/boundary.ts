// The way of every request: request id → credential → parameters → body → operation → answer → log and metrics.
// Nothing that a handler throws passes this file.

import { type ErrorKind, ServiceError, unavailable, ValidationFailure } from '../core/errors.ts';
import type { OnInterrupt } from '../core/interruption.ts';
import type { AccessLog, Logger } from '../core/logger.ts';
import type { Principal } from '../core/principal.ts';
import { bodyMemory } from './body-memory.ts';
import type { Cors } from './cors.ts';
import { type Authenticators, authorize, challengeOf, identify } from './credentials.ts';
import type { RequestMetrics } from './metrics.ts';
import {
  INTERNAL_OPENAI_ERROR,
  OpenAiRefusal,
  toOpenAiError,
  toOpenAiValidationError,
} from './openai-error.ts';
import { type Operation, type Route, reply } from './operation.ts';
import { createRequestParser, showPath } from './request.ts';
import { STATUS } from './statuses.ts';

export type Boundary = {
  /** Wraps a route so that it answers every request, whatever happens. */
  guard(route: Route): (request: Request) => Promise<Response>;
  /** From now on new requests are refused with 503 (but probes are answered). */
  refuseNewRequests(): void;
  /** Requests being answered right now. */
  running(): number;
};

export type BoundaryDeps = {
  authenticators: Authenticators;
  cors: Cors;
  log: Logger;
  access: AccessLog;
  requestMetrics: RequestMetrics;
  /** Turns a failure of something outside into the refusal that the caller may see. */
  explainFailure(error: unknown): ServiceError | undefined;
  /** The end of a shutdown's time: what is not answered then is answered 503, whatever its operation does. */
  onInterrupt: OnInterrupt;
};

type Exchange = { requestId: string; principal: Principal | undefined };

export function createBoundary(deps: BoundaryDeps): Boundary {
  let refusing = false;
  let running = 0;

  function guard(route: Route): (request: Request) => Promise<Response> {
    const { operation } = route;
    const answer = createAnswer(route, deps.authenticators);
    const observe = deps.requestMetrics.route(operation);
    const probe = operation.area === 'health';
    return async (request) => {
      const startedAt = performance.now();
      const exchange: Exchange = { requestId: requestIdOf(request), principal: undefined };
      const answered = Promise.withResolvers<Response>();
      const forget = deps.onInterrupt(() => answered.resolve(shuttingDown(operation)));
      running++;
      let response: Response;
      try {
        if (refusing && !probe) answered.resolve(shuttingDown(operation));
        else answer(request, exchange).then(answered.resolve, answered.reject);
        response = await answered.promise;
      } catch (error) {
        response = renderFailure(error, { exchange, operation, deps });
      } finally {
        forget();
        running--;
        bodyMemory.release(request);
      }
      // An upstream's own id is the one that its operators know; the log has the one that the caller is told.
      const told = response.headers.get('x-request-id');
      if (told !== null && REQUEST_ID.test(told)) exchange.requestId = told;
      else response.headers.set('x-request-id', exchange.requestId);
      deps.cors.mark(request, response);
      const durationMs = performance.now() - startedAt;
      observe(response.status, durationMs);
      deps.access({
        method: request.method,
        route: operation.path,
        path: () => showPath(request.url),
        status: response.status,
        ms: Math.round(durationMs * 1000) / 1000,
        requestId: exchange.requestId,
        keyId: exchange.principal?.keyId || undefined,
      });
      return response;
    };
  }

  return {
    guard,
    refuseNewRequests: () => {
      refusing = true;
    },
    running: () => running,
  };
}

function createAnswer(route: Route, authenticators: Authenticators) {
  const { operation, handle } = route;
  const parser = createRequestParser(operation);
  return async (request: Request, exchange: Exchange): Promise<Response> => {
    const parameters = parser.parameters(request.url);
    if (operation.credential !== 'none') {
      const found = identify(request, route, { authenticators, parameters });
      exchange.principal = found instanceof Promise ? await found : found;
      authorize(exchange.principal, operation, parameters.path['workspace_id']);
    }
    if (parameters.entries.length > 0) throw new ValidationFailure(parameters.entries);
    return handle({
      path: parameters.path,
      query: parameters.query,
      body: operation.body === undefined ? undefined : await parser.body(request),
      request,
      requestId: exchange.requestId,
      get principal(): Principal {
        if (exchange.principal === undefined) throw new Error(`${operation.id} asks for no credential`);
        return exchange.principal;
      },
    });
  };
}

function renderFailure(
  error: unknown,
  { exchange, operation, deps }: { exchange: Exchange; operation: Operation; deps: BoundaryDeps },
): Response {
  const { errorShape } = operation;
  if (error instanceof ValidationFailure) {
    return errorShape === 'openai'
      ? reply(400, toOpenAiValidationError(error))
      : reply(422, { detail: error.entries });
  }
  const refusal = error instanceof ServiceError ? error : deps.explainFailure(error);
  const context = { request_id: exchange.requestId, route: operation.path };
  if (refusal === undefined) {
    deps.log.error({ ...context, err: error }, 'unexpected failure');
    return reply(500, errorShape === undefined ? { detail: 'Internal Server Error' } : INTERNAL_OPENAI_ERROR);
  }
  if (OF_OTHERS.has(refusal.kind)) {
    deps.log.warn({ ...context, err: refusal.cause ?? error }, refusal.message);
  }
  return renderRefusal(refusal, operation);
}

/** Refusals that are no fault of the caller's: an operator wants to know why. */
const OF_OTHERS: ReadonlySet<ErrorKind> = new Set(['unavailable', 'upstream-failed', 'upstream-timeout']);

function renderRefusal(refusal: ServiceError, { errorShape, credential }: Operation): Response {
  const body = errorShape === undefined ? { detail: refusal.message } : toOpenAiError(refusal);
  const response = reply(STATUS[refusal.kind], body);
  if (refusal instanceof OpenAiRefusal) {
    for (const [name, value] of Object.entries(refusal.details.headers ?? {}))
      response.headers.set(name, value);
  }
  if (refusal.kind === 'unauthenticated') response.headers.set('www-authenticate', challengeOf(credential));
  if (refusal.kind === 'request-timeout') response.headers.set('connection', 'close');
  if (refusal.retryAfterSeconds !== undefined) {
    response.headers.set('retry-after', String(refusal.retryAfterSeconds));
  }
  return response;
}

function shuttingDown(operation: Operation): Response {
  const response = renderRefusal(unavailable('The service is shutting down'), operation);
  response.headers.set('connection', 'close');
  return response;
}

const REQUEST_ID = /^[\w.:/+=-]{1,128}$/;

/** The caller's own request id where it is fit for a log line, else a new one. */
function requestIdOf(request: Request): string {
  const given = request.headers.get('x-request-id');
  return given !== null && REQUEST_ID.test(given) ? given : Bun.randomUUIDv7();
}
