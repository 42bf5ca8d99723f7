// The plugin that every area uses: parameters, keys, admission, answers and errors of a request, in this order:
// parameters → key → body → permit → handler → answer. The body is read after the key was checked, and by its schema (input.ts).

import { Elysia, ElysiaCustomStatusResponse } from 'elysia';
import { type ServiceError, ValidationFailure } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { unsampledFields } from '../core/tracing.ts';
import type { Admission, Work } from './admission.ts';
import { explainHosts } from './client.ts';
import { type Authenticators, authorize, identify } from './credentials.ts';
import { renderFailure, ShuttingDown } from './failures.ts';
import type { RouteTable } from './route-table.ts';
import type { ErrorShape, KeySpec } from './routes.ts';
import type { Running } from './running.ts';
import { type RequestState, stateOf } from './state.ts';

export type PluginDeps = {
  /** Called with each request that needs a key: the area that checks keys uses this plugin. */
  authenticators(): Authenticators;
  /** Undefined: every request is begun at once. */
  admission: Admission | undefined;
  log: Logger;
  /** Converts a failure of a backing service into the refusal that the caller may see. */
  explainFailure(error: unknown): ServiceError | undefined;
  /** The routes of the application that uses the plugin. */
  table: RouteTable;
  running: Running;
};

/** Options that are only stated: what they ask for is done by the plugin, which reads them from `app.routes`. */
const STATED = {
  work: (_class: Work) => ({}),
  errors: (_shape: ErrorShape) => ({}),
  events: (_types: readonly string[]) => ({}),
  audits: (_actions: readonly string[]) => ({}),
  keepsAddress: (_keeps: true) => ({}),
  noIdleTimeout: (_none: true) => ({}),
};

export function createHttpPlugin({
  authenticators,
  admission,
  log,
  explainFailure,
  table,
  running,
}: PluginDeps) {
  /** Who asks, and with which parameters. Throws as `identify` and `authorize` do, and ValidationFailure. */
  async function authenticate(state: RequestState, request: Request): Promise<void> {
    const { operation, parameters } = state;
    if (operation === undefined) throw new Error('a key is checked before the route is known');
    state.caller ??= await identify(request, operation, { authenticators: authenticators(), parameters });
    authorize(state.caller, operation, parameters.path['workspace_id']);
    if (parameters.entries.length > 0) throw new ValidationFailure(parameters.entries);
  }

  return (
    new Elysia({ name: 'http' })
      // The body stays in the request until its schema asks for it.
      .onParse({ as: 'global' }, ({ request }) => request)
      .derive({ as: 'global' }, ({ request, route }) => {
        const hosts = explainHosts(request);
        if (hosts !== undefined) throw hosts;
        const state = stateOf(request);
        const { operation, parameters } = table.of(request, route);
        state.operation = operation;
        // What a request in progress asks of the service itself is a part of that request.
        if (state.caller === undefined && running.isRefusing && operation.area !== 'health')
          throw new ShuttingDown();
        state.parameters = parameters;
        if (operation.credential === 'none' && state.parameters.entries.length > 0)
          throw new ValidationFailure(state.parameters.entries);
        if (operation.noIdleTimeout) state.setIdleTimeout(0);
        // In place of Elysia's own, which lose locations, repeats and odd names.
        return { state, params: state.parameters.path, query: state.parameters.query } as {
          state: RequestState;
        };
      })
      .macro({
        key: (spec: KeySpec) => ({
          introspect(hooks: Record<string, unknown>) {
            // A macro's own option does not stay among the hooks of its route.
            hooks['credential'] = spec;
          },
          async transform({ request }: { request: Request }) {
            await authenticate(stateOf(request), request);
          },
          resolve({ request }) {
            const { principal, author } = stateOf(request);
            return { principal, author };
          },
        }),
        ...STATED,
      })
      .onBeforeHandle({ as: 'global' }, async ({ request }) => {
        const state = stateOf(request);
        if (admission === undefined || !state.takesPermit) return;
        const work = state.operation?.work ?? 'exempt';
        if (work === 'exempt') return;
        state.holdPermit(await admission.enter(work, state.caller?.workspaceId ?? ''));
      })
      .mapResponse({ as: 'global' }, async ({ responseValue, set }) =>
        // Elysia waits for a handler whose text looks as if it returned a promise, and for no other.
        toResponse(await responseValue, set.status),
      )
      .onError({ as: 'global' }, ({ error, request, code }) => {
        const state = stateOf(request);
        if (code === 'NOT_FOUND' && state.operation === undefined) {
          const found = running.isRefusing
            ? new ShuttingDown()
            : (explainHosts(request) ?? table.answerUnmatched(request));
          if (found instanceof Response) return found;
          error = found;
        }
        if (state.isAnswered) return new Response(null, { status: 503 });
        state.failure = error;
        return renderFailure(error, state.route, {
          explain: explainFailure,
          fields: {
            request_id: state.requestId,
            ...unsampledFields(state.trace),
            route: state.route.path,
          },
          log,
        });
      })
  );
}

/** What a handler returns as the answer: JSON with the status that it set, 200 by default; nothing is 204. */
function toResponse(value: unknown, status: number | string | undefined): Response {
  if (value instanceof Response) return value;
  if (value instanceof ElysiaCustomStatusResponse) {
    const { code, response } = value;
    return code === 204 ? noContent() : Response.json(response, { status: Number(code) });
  }
  if (value === undefined) return noContent();
  return Response.json(value, { status: typeof status === 'number' ? status : 200 });
}

const noContent = (): Response => new Response(null, { status: 204 });
