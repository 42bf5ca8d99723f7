// What is known of one request on its way through the plugins, by the request itself.

import { type Author, type RequestOrigin, toAuthor } from '../core/author.ts';
import type { Principal } from '../core/principal.ts';
import type { Span } from '../core/tracing.ts';
import { bodyMemory } from './body.ts';
import { type Client, ClientFinder } from './client.ts';
import { type Operation, UNMATCHED } from './routes.ts';
import type { Parameters } from './url.ts';

const STATE = Symbol('state');
type Known = Request & { [STATE]?: RequestState };

const NO_PARAMETERS: Parameters = { path: {}, query: {}, entries: [] };
const NO_PROXIES = new ClientFinder([]);
const REQUEST_ID = /^[\w.:/+=-]{1,128}$/;

type Arrival = { server?: Bun.Server<undefined> | undefined; clients?: ClientFinder; outer?: RequestState };

export class RequestState {
  readonly startedAtMs = performance.now();
  requestId: string;
  /** Undefined where no route answers. */
  operation: Operation | undefined;
  parameters = NO_PARAMETERS;
  caller: Principal | undefined;
  /** What the request has failed by. */
  failure: unknown;
  takesPermit = false;
  /** The memory of its body (body.ts). */
  bodyBytes = 0;
  /** For a route that stands for several operations: the one that was called, for the log. Visible ASCII without quotes. */
  called: string | undefined;
  /** The model that the caller has asked for, for the log. */
  model: string | undefined;
  /** Undefined without tracing. */
  trace: Span | undefined;
  /** It was answered before its handler ended: what the handler fails by afterwards is of no interest. */
  isAnswered = false;
  /** The request as the server knows it. */
  private readonly request: Request;
  private readonly arrival: Arrival;
  private knownClient: Client | undefined;
  /** Undefined before the request is admitted, and after a stream has taken the permit over. */
  private returnPermit: (() => void) | undefined;

  constructor(request: Request, arrival: Arrival = {}) {
    this.request = request;
    this.arrival = arrival;
    this.requestId = arrival.outer?.requestId ?? requestIdOf(request);
    this.trace = arrival.outer?.trace;
    (request as Known)[STATE] = this;
  }

  /** The operation, or what stands for all requests that no route answers. */
  get route(): Operation {
    return this.operation ?? UNMATCHED;
  }

  /** A route answers it. A client that the route needs is read now: one that has hung up has no address. */
  begin(operation: Operation, parameters: Parameters): void {
    this.operation = operation;
    this.parameters = parameters;
    if (operation.needsClient) this.knownClient = this.client;
  }

  /** The caller; throws where the route asks for no key. */
  get principal(): Principal {
    if (this.caller === undefined) throw new Error(`${this.operation?.id} asks for no key`);
    return this.caller;
  }

  /** The other end of the connection, which costs a call of the server: read when it is needed, and once. */
  get client(): Client {
    const { outer, clients = NO_PROXIES, server } = this.arrival;
    this.knownClient ??= outer?.client ?? clients.find(this.request, server);
    return this.knownClient;
  }

  /** Its address is null except of operations that need it. */
  get origin(): RequestOrigin {
    const address = this.route.needsClient ? this.client.address : null;
    return { address, requestId: this.requestId };
  }

  /** The caller as the audit log names it. */
  get author(): Author {
    return toAuthor(this.principal, this.origin);
  }

  /** Seconds without a byte in either direction after which the server closes the connection; 0: never. */
  setIdleTimeout(seconds: number): void {
    this.arrival.server?.timeout(this.request, seconds);
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

  /** The same request with another URL or method. */
  changedTo(url: string, method: string): Request {
    const moved = new Request(url, this.request);
    const changed: Known = method === moved.method ? moved : new Request(moved, { method });
    changed[STATE] = this;
    return changed;
  }
}

/** The state of a request; a request that comes from inside, such as a test's, begins with none. */
export const stateOf = (request: Known): RequestState => request[STATE] ?? new RequestState(request);

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
  const state = new RequestState(request, outer === undefined ? {} : { outer });
  state.takesPermit = takesPermit;
  state.caller = principal;
  state.requestId = requestId ?? state.requestId;
  return request;
}

export const isRequestId = (text: string): boolean => REQUEST_ID.test(text);

/** The caller's own request id where it is valid for a log line, else a new one. */
function requestIdOf(request: Request): string {
  const given = request.headers.get('x-request-id');
  return given !== null && isRequestId(given) ? given : Bun.randomUUIDv7();
}
