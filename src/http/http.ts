// What every application here needs of HTTP: the plugin that its areas use, the requests in progress, and calls from inside. A request
// passes, in this order: parameters → key → body → permit → handler → answer. The body is read by its schema (input.ts), after the key.

import { type AnyElysia, Elysia, ElysiaCustomStatusResponse } from 'elysia';
import { type ServiceError, ValidationFailure } from '../core/errors.ts';
import type { AccessLog, Logger } from '../core/logger.ts';
import { unsampledFields } from '../core/tracing.ts';
import type { Admission } from './admission.ts';
import { ClientFinder, explainHosts } from './client.ts';
import type { Cors } from './cors.ts';
import { type Authenticators, authorize, identify } from './credentials.ts';
import { answerUnmatched, renderFailure, ShuttingDown } from './failures.ts';
import { createInnerCalls } from './inner-calls.ts';
import { createRequestMetrics } from './metrics.ts';
import { type ElysiaRoute, type ErrorShape, type KeySpec, RouteTable, type Work } from './routes.ts';
import { Running } from './running.ts';
import { type RequestState, stateOf } from './state.ts';

export type HttpDeps = {
  /** Called with each request that needs a key: the area that checks keys uses the plugin. */
  authenticators(): Authenticators;
  /** Undefined: every request is begun at once. */
  admission?: Admission;
  cors: Cors;
  /** Absent: no proxy is believed. */
  clients?: ClientFinder;
  log: Logger;
  access: AccessLog;
  /** Converts a failure of a backing service into the refusal that the caller may see. */
  explainFailure(error: unknown): ServiceError | undefined;
  /** At the deadline of a shutdown, the requests in progress are answered 503. */
  shutdown: AbortSignal;
};

/** A Host may be a single letter: the path is looked for behind `http://`, not further on. */
export const ELYSIA_OPTIONS = { normalize: false, handler: { standardHostname: false } } as const;

export type Http = ReturnType<typeof createHttp>;

export function createHttp(deps: HttpDeps) {
  const { cors, clients = new ClientFinder([]), access, shutdown } = deps;
  const table = new RouteTable();
  const requestMetrics = createRequestMetrics();
  const running = new Running({ cors, clients, access, requestMetrics, shutdown });
  let app: AnyElysia | undefined;
  /** Answers a request from inside. */
  const handle = async (request: Request): Promise<Response> => {
    if (app === undefined) throw new Error('the application is called before it is made');
    return app.handle(request);
  };
  return {
    plugin: new Elysia({ name: 'http' })
      .use(requests(table, running))
      .use(credentials(deps))
      .use(permits(deps))
      .use(answers(deps, table, running)),
    requestMetrics,
    handle,
    call: createInnerCalls({ handle, table }),
    operations: () => table.operations(),
    /**
     * From now on requests are answered by this application, of whose routes those of `openRoutes` need no key. Returns `fetch` for its server.
     * Throws where a route is not safe (routes.ts).
     */
    serve(served: AnyElysia, openRoutes: readonly string[]) {
      app = served;
      table.read(served.routes as unknown as readonly ElysiaRoute[], openRoutes);
      return (request: Request, server?: Bun.Server<undefined>) =>
        running.answer(served.fetch, request, server);
    },
    /** Refuses new requests with 503, except those of probes. */
    refuseNewRequests(): void {
      running.isRefusing = true;
    },
    /** The number of requests in progress. */
    running: () => running.count,
  };
}

/** Finds out what is requested: the operation and its parameters, in place of Elysia's own, which lose locations, repeats and odd names. */
const requests = (table: RouteTable, running: Running) =>
  new Elysia({ name: 'http.requests' })
    // The body stays in the request until its schema asks for it.
    .onParse({ as: 'global' }, ({ request }) => request)
    .derive({ as: 'global' }, ({ request, route }) => {
      const hosts = explainHosts(request);
      if (hosts !== undefined) throw hosts;
      const state = stateOf(request);
      const { operation, parameters } = table.of(request, route);
      state.begin(operation, parameters);
      // What a request in progress asks of the service itself is a part of that request.
      if (state.caller === undefined && running.isRefusing && operation.area !== 'health')
        throw new ShuttingDown();
      if (operation.credential === 'none' && parameters.entries.length > 0)
        throw new ValidationFailure(parameters.entries);
      if (operation.noIdleTimeout) state.setIdleTimeout(0);
      return { state, params: parameters.path, query: parameters.query } as { state: RequestState };
    })
    // Options that are only stated: routes.ts reads them from the routes of the application.
    .macro({
      errors: (_shape: ErrorShape) => ({}),
      events: (_types: readonly string[]) => ({}),
      audits: (_actions: readonly string[]) => ({}),
      keepsAddress: (_keeps: true) => ({}),
      noIdleTimeout: (_none: true) => ({}),
    });

/** Checks who asks, before the body is read, and gives handlers the `principal` and the `author`. */
const credentials = ({ authenticators }: HttpDeps) =>
  new Elysia({ name: 'http.credentials' }).macro({
    key: (spec: KeySpec) => ({
      introspect(hooks: Record<string, unknown>) {
        // A macro's own option does not stay among the hooks of its route.
        hooks['credential'] = spec;
      },
      async transform({ request }: { request: Request }) {
        const state = stateOf(request);
        const { route, parameters } = state;
        state.caller ??= await identify(request, route, { authenticators: authenticators(), parameters });
        authorize(state.caller, route, parameters.path['workspace_id']);
        if (parameters.entries.length > 0) throw new ValidationFailure(parameters.entries);
      },
      resolve({ request }) {
        const { principal, author } = stateOf(request);
        return { principal, author };
      },
    }),
  });

/** Begins a request, or lets it wait for a permit of its class of work. */
const permits = ({ admission }: HttpDeps) =>
  new Elysia({ name: 'http.permits' })
    .macro({ work: (_class: Work) => ({}) })
    .onBeforeHandle({ as: 'global' }, async ({ request }) => {
      const state = stateOf(request);
      const { work } = state.route;
      if (admission === undefined || !state.takesPermit || work === 'exempt') return;
      state.holdPermit(await admission.enter(work, state.caller?.workspaceId ?? ''));
    });

/** Makes the answer of what a handler returns or throws, and of what no route answers. */
const answers = ({ cors, explainFailure, log }: HttpDeps, table: RouteTable, running: Running) =>
  new Elysia({ name: 'http.answers' })
    .mapResponse({ as: 'global' }, async ({ responseValue, set }) =>
      // Elysia waits for a handler whose text looks as if it returned a promise, and for no other.
      toResponse(await responseValue, set.status),
    )
    .onError({ as: 'global' }, ({ error, request, code }) => {
      const state = stateOf(request);
      if (code === 'NOT_FOUND' && state.operation === undefined) {
        const found = running.isRefusing
          ? new ShuttingDown()
          : (explainHosts(request) ?? cors.preflight(request) ?? answerUnmatched(request, table));
        if (found instanceof Response) return found;
        error = found;
      }
      if (state.isAnswered) return new Response(null, { status: 503 });
      state.failure = error;
      return renderFailure(error, state.route, {
        explain: explainFailure,
        fields: { request_id: state.requestId, ...unsampledFields(state.trace), route: state.route.path },
        log,
      });
    });

/** What a handler returns as the answer: JSON with the status that it set, 200 by default; nothing is 204. */
function toResponse(value: unknown, status: number | string | undefined): Response {
  if (value instanceof Response) return value;
  if (value instanceof ElysiaCustomStatusResponse)
    return toResponse(value.code === 204 ? undefined : value.response, value.code);
  if (value === undefined) return new Response(null, { status: 204 });
  return Response.json(value, { status: typeof status === 'number' ? status : 200 });
}
