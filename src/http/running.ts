// The requests in progress: each is begun, observed and ended here, around Elysia, because no hook can end a handler that runs.

import { toError } from '../core/errors.ts';
import type { OnInterrupt } from '../core/interruption.ts';
import type { AccessLog } from '../core/logger.ts';
import { inTrace } from '../core/tracing.ts';
import type { FindClient } from './client.ts';
import type { Cors } from './cors.ts';
import { internalError, shuttingDown } from './failures.ts';
import { UNREAD_TIMEOUT_SECONDS } from './limits.ts';
import type { RequestMetrics } from './metrics.ts';
import { beginRequestTrace, endRequestTrace } from './request-trace.ts';
import { beginState, changedTo, isRequestId, type RequestState } from './state.ts';
import { showPath } from './url.ts';

export type RunningDeps = {
  cors: Cors;
  findClient: FindClient;
  access: AccessLog;
  requestMetrics: RequestMetrics;
  /** At the deadline of a shutdown, the requests in progress are answered 503. */
  onInterrupt: OnInterrupt;
};

type Server = Bun.Server<undefined>;
type Fetch = (request: Request) => Response | Promise<Response>;

export function createRunning({ cors, findClient, access, requestMetrics, onInterrupt }: RunningDeps) {
  let refusing = false;
  /** Ends each request in progress with a 503. */
  const running = new Set<() => void>();
  onInterrupt(() => {
    for (const interrupt of running) interrupt();
  });

  /** Marks, counts and logs the answer. */
  function finish(request: Request, state: RequestState, response: Response): Response {
    // A handler may answer with the request id of an upstream; then the log has that one, too.
    const { headers } = response;
    const answeredId = headers.get('x-request-id');
    if (answeredId !== null && isRequestId(answeredId)) state.requestId = answeredId;
    else headers.set('x-request-id', state.requestId);
    cors.mark?.(request, response);
    const durationMs = performance.now() - state.startedAtMs;
    const operation = state.route;
    if (operation.noIdleTimeout) state.setIdleTimeout(UNREAD_TIMEOUT_SECONDS);
    requestMetrics.observe(operation, response.status, durationMs);
    access({
      method: request.method,
      route: operation.path,
      path: () => showPath(request.url),
      status: response.status,
      ms: Math.round(durationMs * 1000) / 1000,
      requestId: state.requestId,
      keyId: state.caller?.keyId || undefined,
      workspaceId: state.caller?.workspaceId || undefined,
      model: state.model,
      client: state.address ?? undefined,
      called: state.called,
      trace: state.trace,
    });
    if (state.trace !== undefined) endRequestTrace(state.trace, state, response.status);
    return response;
  }

  return {
    /** `fetch` for a server: every request is answered once, also after an error. */
    serve:
      (fetch: Fetch) =>
      (request: Request, server?: Server): Promise<Response> =>
        new Promise((resolve) => {
          const state = beginState(request, server, findClient(request, server));
          const asked = forElysia(request);
          const end = (answer: () => Response): void => {
            state.leave();
            if (!running.delete(interrupt)) return;
            state.isAnswered = true;
            try {
              resolve(finish(request, state, answer()));
            } catch (failure) {
              // The log may be what fails: the cause goes to standard error.
              process.emitWarning(toError(failure));
              resolve(internalError(state.route, { 'x-request-id': state.requestId }));
            }
          };
          const interrupt = (): void => end(() => shuttingDown(state.route));
          running.add(interrupt);
          const answer = async (): Promise<void> => {
            const response = await fetch(asked);
            end(() => response);
          };
          const begin = (): void => {
            answer().catch((error) =>
              end(() => {
                throw error;
              }),
            );
          };
          state.trace = beginRequestTrace(request);
          // The place of a trace that is not sampled is of use to upstreams alone: routes that ask them take it from the state.
          if (state.trace?.isSampled) inTrace(state.trace, begin);
          else begin();
        }),
    /** Whether new requests are refused. */
    isRefusing: (): boolean => refusing,
    /** Refuses new requests with 503, except those of probes. */
    refuseNewRequests: (): void => {
      refusing = true;
    },
    /** The number of requests in progress. */
    count: (): number => running.size,
  };
}

/**
 * Without a Host, or with one that is none, the URL of a request is a path alone, which Elysia cannot read. A path that is not in its
 * normal form stays as it is, and is found nowhere. HEAD is asked as GET: the server leaves the body out, where Elysia would read the
 * whole of it, a stream's too, for its length.
 */
function forElysia(request: Request): Request {
  const { url, method } = request;
  const whole = url.startsWith('/') ? `http://localhost${url}` : url;
  const isOdd = whole !== url && URL.parse(whole)?.href !== whole;
  if (isOdd || (whole === url && method !== 'HEAD')) return request;
  return changedTo(request, whole, method === 'HEAD' ? 'GET' : method);
}
