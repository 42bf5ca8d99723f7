// What every application here needs of HTTP: the plugin that its areas use, the requests in progress, and calls from inside.

import type { AnyElysia } from 'elysia';
import type { ServiceError } from '../core/errors.ts';
import type { OnInterrupt } from '../core/interruption.ts';
import type { AccessLog, Logger } from '../core/logger.ts';
import type { Admission } from './admission.ts';
import { ClientFinder } from './client.ts';
import type { Cors } from './cors.ts';
import type { Authenticators } from './credentials.ts';
import { createInnerCalls } from './inner-calls.ts';
import { createRequestMetrics } from './metrics.ts';
import { createHttpPlugin } from './plugin.ts';
import { RouteTable } from './route-table.ts';
import type { ElysiaRoute } from './routes.ts';
import { Running } from './running.ts';

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
  onInterrupt: OnInterrupt;
};

/** A Host may be a single letter: the path is looked for behind `http://`, not further on. */
export const ELYSIA_OPTIONS = { normalize: false, handler: { standardHostname: false } } as const;

export type Http = ReturnType<typeof createHttp>;

export function createHttp({
  authenticators,
  admission,
  cors,
  clients = new ClientFinder([]),
  log,
  access,
  explainFailure,
  onInterrupt,
}: HttpDeps) {
  const table = new RouteTable(cors);
  const requestMetrics = createRequestMetrics();
  const running = new Running({ cors, clients, access, requestMetrics, onInterrupt });
  let app: AnyElysia | undefined;
  /** Answers a request from inside. */
  const handle = async (request: Request): Promise<Response> => {
    if (app === undefined) throw new Error('the application is called before it is made');
    return app.handle(request);
  };
  return {
    plugin: createHttpPlugin({ authenticators, admission, log, explainFailure, table, running }),
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
