// The steps of every request: request id → credential → parameters → body → its turn → operation → answer → log and metrics.
// All errors of handlers are caught here.

import type { TObject, TSchema } from '@sinclair/typebox';
import { type Author, type RequestOrigin, toAuthor } from '../core/author.ts';
import { type ServiceError, toError, ValidationFailure } from '../core/errors.ts';
import type { OnInterrupt } from '../core/interruption.ts';
import type { AccessLog, Logger } from '../core/logger.ts';
import type { Principal } from '../core/principal.ts';
import { Ring } from '../core/ring.ts';
import type { TraceContext } from '../core/trace-context.ts';
import { inTrace, unsampledFields } from '../core/tracing.ts';
import type { Admission, Door } from './admission/admission.ts';
import type { Asker, Permit } from './admission/fair-semaphore.ts';
import { bodyMemory } from './body.ts';
import type { Cors } from './cors.ts';
import { type Authenticators, authorize, identify } from './credentials.ts';
import { internalError, renderFailure, shuttingDown } from './failures.ts';
import type { RequestMetrics } from './metrics.ts';
import { type Input, NO_BYTES, type Operation, type Route } from './operation.ts';
import { createRequestParser, type RequestParser, showPath } from './request.ts';
import { createRequestTrace, endRequestTrace } from './request-trace.ts';

export type Boundary = {
  /** Wraps a route so that it answers every request, also after an error. */
  guard(route: Route): Guarded;
  /** Refuses new requests with 503, except those of probes. */
  refuseNewRequests(): void;
  /** The number of requests in progress. */
  running(): number;
};

/** The addresses of clients, which the audit log keeps. */
type Connections = { requestIP(request: Request): { address: string } | null } | null | undefined;

export type Guarded = (request: Request, connections?: Connections) => Promise<Response>;

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
    const entrance: Entrance = { operation, door: deps.admission?.door(operation) };
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
      deps.cors.mark?.(request, response);
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
    const fail = ({ requestId, trace }: Exchange, error: unknown): Response =>
      renderFailure(error, operation, {
        explain: deps.explainFailure,
        fields: { request_id: requestId, ...unsampledFields(trace), route: operation.path },
        log: deps.log,
      });
    return (request, connections) =>
      new Promise((resolve) => {
        const exchange = new Exchange(request, entrance, connections);
        const interrupt = (): void => end(shuttingDown(operation));
        const end = (response: Response | undefined, error?: unknown): void => {
          exchange.leave();
          if (!running.remove(link)) return;
          bodyMemory.release(request);
          try {
            resolve(finish(exchange, response ?? fail(exchange, error)));
          } catch (failure) {
            // The log may be what fails: the cause goes to standard error.
            process.emitWarning(toError(failure));
            resolve(internalError(operation, { 'x-request-id': exchange.requestId }));
          }
        };
        const link = running.add(interrupt);
        const begin = (): unknown => answer(exchange).then(end, (error) => end(undefined, error));
        exchange.trace = beginTrace?.(request);
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
  const { operation, handle, status } = route;
  // By the first request: a start would wait for the parsers of all operations.
  let parser: RequestParser | undefined;
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
    else if (operation.bodyContent !== undefined) exchange.bytes = await parser.bytes(request);
    const entering = exchange.enter();
    if (entering !== undefined) await entering;
    return toResponse(await handle(exchange), status);
  };
}

/** What a handler returns is a response already, or the JSON of one (nothing, where the status is 204). */
export const toResponse = (result: unknown, status: number): Response => {
  if (result instanceof Response) return result;
  return status === 204 ? new Response(null, { status }) : Response.json(result, { status });
};

type Entrance = { operation: Operation; door: Door | undefined };

/** One request on its way, as its handler sees it. A class, because there is one for every request: all share its functions. */
class Exchange implements Input<TObject, TObject, TSchema> {
  readonly request: Request;
  readonly startedAtMs = performance.now();
  requestId: string;
  path: Record<string, unknown> = NOTHING;
  query: Record<string, unknown> = NOTHING;
  body: unknown;
  bytes = NO_BYTES;
  caller: Principal | undefined;
  called: string | undefined;
  /** Undefined without tracing. */
  trace: TraceContext | undefined;
  /** The permit that it has to give back: undefined before it is admitted, and after a stream has taken the permit over. */
  permit: Permit | undefined;
  private readonly operation: Operation;
  private readonly address: string | null;
  private readonly door: Door | undefined;

  constructor(request: Request, { operation, door }: Entrance, connections: Connections) {
    this.request = request;
    this.operation = operation;
    this.door = door;
    this.requestId = requestIdOf(request);
    const keepsAddress = operation.audits !== undefined || operation.notesAddress;
    this.address = keepsAddress ? addressOf(request, connections) : null;
  }

  get principal(): Principal {
    if (this.caller === undefined) throw new Error(`${this.operation.id} asks for no credential`);
    return this.caller;
  }

  get origin(): RequestOrigin {
    return { address: this.address, requestId: this.requestId };
  }

  get author(): Author {
    return toAuthor(this.principal, this.origin);
  }

  /** A promise only where the request has to wait. Throws and rejects as `Door.enter`. */
  enter(): Promise<void> | undefined {
    const entering = this.door?.enter(this.caller ?? NOBODY);
    if (entering instanceof Promise)
      return entering.then((permit) => {
        this.permit = permit;
      });
    this.permit = entering;
    return undefined;
  }

  leave(): void {
    if (this.permit !== undefined) this.door?.release(this.permit);
    this.permit = undefined;
  }

  keepPermit(): () => void {
    let { permit } = this;
    this.permit = undefined;
    const release = (): void => {
      if (permit !== undefined) this.door?.release(permit);
      permit = undefined;
    };
    // A caller that has disconnected may never read the answer, so that nothing else ends it.
    const { signal } = this.request;
    if (signal.aborted) release();
    else signal.addEventListener('abort', release, { once: true });
    return release;
  }
}

const NOBODY: Asker = { workspaceId: '', keyId: '' };
const NOTHING: Record<string, unknown> = {};

/** The IP address at the other end of the connection: that of the last proxy, where there is one. */
const addressOf = (request: Request, connections: Connections): string | null =>
  connections?.requestIP(request)?.address.replace(/^::ffff:(?=[\d.]+$)/, '') ?? null;

const REQUEST_ID = /^[\w.:/+=-]{1,128}$/;

/** The caller's own request id where it is valid for a log line, else a new one. */
function requestIdOf(request: Request): string {
  const given = request.headers.get('x-request-id');
  return given !== null && REQUEST_ID.test(given) ? given : Bun.randomUUIDv7();
}
