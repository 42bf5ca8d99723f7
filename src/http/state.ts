// What is known of one request on its way through the plugins, by the request itself.

import { type Author, type RequestOrigin, toAuthor } from '../core/author.ts';
import type { Principal } from '../core/principal.ts';
import type { Span } from '../core/tracing.ts';
import { bodyMemory } from './body.ts';
import { keepScheme } from './client.ts';
import { type Operation, UNMATCHED } from './routes.ts';
import type { Parameters } from './url.ts';

type Server = Bun.Server<undefined>;

const STATE = Symbol('state');

type Known = Request & { [STATE]?: RequestState };

/** The state of a request; a request that comes from inside, such as a test's, begins with none. */
export const stateOf = (request: Known): RequestState =>
  (request[STATE] ??= new RequestState(request, undefined));

/** The state of a request that has arrived at the server. `address`: that of its client. */
export function beginState(
  request: Request,
  server: Server | undefined,
  address: string | null,
): RequestState {
  const state = new RequestState(request, server);
  state.address = address;
  state.takesPermit = true;
  (request as Known)[STATE] = state;
  return state;
}

/** The same request with another URL or method. */
export function changedTo(request: Request, url: string, method: string): Request {
  const moved = new Request(url, request);
  const changed = method === request.method ? moved : new Request(moved, { method });
  (changed as Known)[STATE] = stateOf(request);
  keepScheme(request, changed);
  return changed;
}

/**
 * A request of the service to itself, for a caller whose credential was checked: nothing is logged or counted for it, and it takes no
 * permit where the request that causes it has one. `outer`: that request, whose connection and id it shares.
 */
export function onBehalfOf(
  principal: Principal,
  request: Request,
  {
    requestId,
    outer,
    takesPermit = false,
  }: { requestId?: string | undefined; outer?: RequestState; takesPermit?: boolean } = {},
): Request {
  const state = new RequestState(request, undefined, outer);
  state.takesPermit = takesPermit;
  state.caller = principal;
  if (requestId !== undefined) state.requestId = requestId;
  (request as Known)[STATE] = state;
  return request;
}

const NO_PARAMETERS: Parameters = { path: {}, query: {}, entries: [] };

export class RequestState {
  readonly startedAtMs = performance.now();
  requestId: string;
  /** Undefined where no route answers. */
  operation: Operation | undefined;
  parameters: Parameters = NO_PARAMETERS;
  caller: Principal | undefined;
  /** What the request has failed by. */
  failure: unknown;
  takesPermit = false;
  /** The memory of its body (body.ts). */
  bodyBytes = 0;
  /** The IP address of the client. */
  address: string | null;
  /** For a route that stands for several operations: the name of the one that was called. Its handler sets it for the log. Visible ASCII without quotes. */
  called: string | undefined;
  /** The model that the caller has asked for, for the log. */
  model: string | undefined;
  /** Undefined without tracing. */
  trace: Span | undefined;
  /** It was answered before its handler ended: what the handler fails by afterwards is of no interest. */
  isAnswered = false;
  private readonly server: Server | undefined;
  /** The request as the server knows it. */
  private readonly request: Request;
  /** Undefined before the request is admitted, and after a stream has taken the permit over. */
  private returnPermit: (() => void) | undefined;

  constructor(request: Request, server: Server | undefined, outer?: RequestState) {
    this.request = request;
    this.server = server;
    this.requestId = outer?.requestId ?? requestIdOf(request);
    this.trace = outer?.trace;
    this.address = outer?.address ?? null;
  }

  /** The operation, or what stands for all requests that no route answers. */
  get route(): Operation {
    return this.operation ?? UNMATCHED;
  }

  /** The caller; throws where the route asks for no key. */
  get principal(): Principal {
    if (this.caller === undefined) throw new Error(`${this.operation?.id} asks for no key`);
    return this.caller;
  }

  /** Its address is null except of operations that are audited, or keep it. */
  get origin(): RequestOrigin {
    const keepsAddress = this.operation?.audits !== undefined || this.operation?.keepsAddress;
    return { address: keepsAddress ? this.address : null, requestId: this.requestId };
  }

  /** The caller as the audit log names it. */
  get author(): Author {
    return toAuthor(this.principal, this.origin);
  }

  /** Seconds without a byte in either direction after which the server closes the connection; 0: never. */
  setIdleTimeout(seconds: number): void {
    this.server?.timeout(this.request, seconds);
  }

  /** The request counts as running until `returnPermit` is called by `leave`, or by what `keepPermit` returns. */
  holdPermit(returnPermit: () => void): void {
    this.returnPermit = returnPermit;
  }

  /** The request is answered: it has no permit any more, and nothing of its body is counted. */
  leave(): void {
    this.returnPermit?.();
    this.returnPermit = undefined;
    bodyMemory.release(this);
  }

  /** For an answer that goes on as a stream: the request counts as running until the returned function is called. */
  keepPermit(): () => void {
    const release = this.returnPermit ?? (() => undefined);
    this.returnPermit = undefined;
    // A caller that has disconnected may never read the answer, so that nothing else ends it.
    const { signal } = this.request;
    if (signal.aborted) release();
    else signal.addEventListener('abort', release, { once: true });
    return release;
  }
}

const REQUEST_ID = /^[\w.:/+=-]{1,128}$/;

export const isRequestId = (text: string): boolean => REQUEST_ID.test(text);

/** The caller's own request id where it is valid for a log line, else a new one. */
function requestIdOf(request: Request): string {
  const given = request.headers.get('x-request-id');
  return given !== null && isRequestId(given) ? given : Bun.randomUUIDv7();
}
