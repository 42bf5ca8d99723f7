// The requests in progress: each is begun, observed and ended here, around Elysia, because no hook can end a handler that runs.

import { toError } from '../core/errors.ts';
import type { AccessLog } from '../core/logger.ts';
import { beginTrace, inTrace, isTracing, type Span } from '../core/tracing.ts';
import type { ClientFinder } from './client.ts';
import type { Cors } from './cors.ts';
import { internalError, shuttingDown } from './failures.ts';
import { UNREAD_TIMEOUT_SECONDS } from './limits.ts';
import type { RequestMetrics } from './metrics.ts';
import { isRequestId, RequestState } from './state.ts';
import { showPath, splitTarget } from './url.ts';

type RunningDeps = {
  cors: Cors;
  clients: ClientFinder;
  access: AccessLog;
  requestMetrics: RequestMetrics;
  /** At the deadline of a shutdown, the requests in progress are answered 503. */
  shutdown: AbortSignal;
};

type Fetch = (request: Request) => Response | Promise<Response>;

export class Running {
  /** Whether new requests are refused with 503, except those of probes. */
  isRefusing = false;
  private readonly deps: RunningDeps;
  /** Ends each request in progress with a 503. */
  private readonly interrupts = new Set<() => void>();

  constructor(deps: RunningDeps) {
    this.deps = deps;
    const interruptAll = (): void => {
      for (const interrupt of this.interrupts) interrupt();
    };
    deps.shutdown.addEventListener('abort', interruptAll, { once: true });
  }

  /** The number of requests in progress. */
  get count(): number {
    return this.interrupts.size;
  }

  /** Answers a request of the server, once, also after an error. */
  async answer(fetch: Fetch, request: Request, server?: Bun.Server<undefined>): Promise<Response> {
    const state = new RequestState(request, { server, clients: this.deps.clients });
    state.takesPermit = true;
    const answered = Promise.withResolvers<Response>();
    const interrupt = (): void => {
      state.isAnswered = true;
      answered.resolve(shuttingDown(state.route));
    };
    this.interrupts.add(interrupt);
    const run = async (): Promise<void> => {
      try {
        answered.resolve(await fetch(forElysia(request, state)));
      } catch (error) {
        answered.reject(error);
      } finally {
        state.leave();
      }
    };
    try {
      state.trace = beginRequestTrace(request);
      // The place of a trace that is not sampled is of use to upstreams alone: routes that ask them take it from the state.
      void (state.trace?.isSampled ? inTrace(state.trace, run) : run());
      return this.finish(request, state, await answered.promise);
    } catch (failure) {
      // The log may be what fails: the cause goes to standard error.
      process.emitWarning(toError(failure));
      return internalError(state.route, { 'x-request-id': state.requestId });
    } finally {
      this.interrupts.delete(interrupt);
      state.leave();
    }
  }

  /** Marks, counts and logs the answer. */
  private finish(request: Request, state: RequestState, response: Response): Response {
    // A handler may answer with the request id of an upstream; then the log has that one, too.
    const { headers } = response;
    const answeredId = headers.get('x-request-id');
    if (answeredId !== null && isRequestId(answeredId)) state.requestId = answeredId;
    else headers.set('x-request-id', state.requestId);
    this.deps.cors.mark?.(request, response);
    const durationMs = performance.now() - state.startedAtMs;
    const operation = state.route;
    if (operation.noIdleTimeout) state.setIdleTimeout(UNREAD_TIMEOUT_SECONDS);
    this.deps.requestMetrics.observe(operation, response.status, durationMs);
    this.deps.access({
      method: request.method,
      route: operation.path,
      path: () => showPath(request.url),
      status: response.status,
      ms: Math.round(durationMs * 1000) / 1000,
      requestId: state.requestId,
      keyId: state.caller?.keyId || undefined,
      workspaceId: state.caller?.workspaceId || undefined,
      model: state.model,
      client: () => state.client.address ?? undefined,
      called: state.called,
      trace: state.trace,
    });
    if (state.trace !== undefined) endRequestTrace(state.trace, state, response.status);
    return response;
  }
}

/**
 * Without a Host, or with one that is none, the URL of a request is a path alone, which Elysia cannot read. A path that is not in its
 * normal form stays as it is, and is found nowhere. HEAD is asked as GET: the server leaves the body out, where Elysia would read the
 * whole of it, a stream's too, for its length.
 */
function forElysia(request: Request, state: RequestState): Request {
  const { url, method } = request;
  const whole = url.startsWith('/') ? `http://localhost${url}` : url;
  const isOdd = whole !== url && URL.parse(whole)?.href !== whole;
  if (isOdd || (whole === url && method !== 'HEAD')) return request;
  return state.changedTo(whole, method === 'HEAD' ? 'GET' : method);
}

/** Probes come every few seconds, and are not traced. */
const PROBES = /^\/(?:healthz|readyz|metrics)?$/;

/**
 * Begins the trace of a request, by the semantic conventions for HTTP servers, without the query, which may contain a key.
 * Undefined without tracing, and for probes.
 */
function beginRequestTrace(request: Request): Span | undefined {
  if (!isTracing() || PROBES.test(splitTarget(request.url).path)) return undefined;
  return beginTrace(
    'HTTP',
    () => ({
      kind: 'server',
      attributes: {
        'http.request.method': request.method,
        'url.path': showPath(request.url),
        'url.scheme': request.url.startsWith('https:') ? 'https' : 'http',
      },
    }),
    request,
  );
}

/** The beginning of an answer ends its span: the stream of a model has one of its own. */
function endRequestTrace(
  trace: Span,
  { requestId, caller, called, operation }: RequestState,
  status: number,
): void {
  if (!trace.isSampled) return;
  if (operation !== undefined) trace.rename(`${operation.method} ${operation.path}`);
  trace.set({
    'http.route': operation?.path,
    'http.response.status_code': status,
    'atrium.request.id': requestId,
    'atrium.workspace.id': caller?.workspaceId,
    'atrium.key.id': caller?.keyId || undefined,
    'atrium.called': called,
  });
  // Refusals of a caller's mistake are no errors of the server.
  if (status >= 500) trace.fail(String(status));
  trace.end();
}
