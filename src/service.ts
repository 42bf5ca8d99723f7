// One process of the service: clients → areas → HTTP, and the orderly end of it all.

import { version } from '../package.json';
import { createApp, listen } from './app.ts';
import { createAreas } from './areas.ts';
import type { Config, S3Settings } from './config.ts';
import { unavailable } from './core/errors.ts';
import { createLifecycle } from './core/lifecycle.ts';
import type { AccessLog, Logger } from './core/logger.ts';
import { toOrigin } from './core/origin.ts';
import type { Siblings } from './core/siblings.ts';
import { until } from './core/wait.ts';
import { connectDatabase, connectForSearch, untilReachable } from './database.ts';
import { type FirstKey, keepFirstKey } from './first-key.ts';
import { Admission } from './http/admission.ts';
import type { Routes } from './http/area.ts';
import { ClientFinder } from './http/client.ts';
import { createCors } from './http/cors.ts';
import { createHttp } from './http/http.ts';
import { processMetrics } from './http/process-metrics.ts';
import { createReadinessWatch } from './http/readiness.ts';
import { explainOutage, type Sql } from './infra/postgres/client.ts';
import { createObjectStore } from './infra/s3/client.ts';
import { readVersions } from './infrastructure.ts';
import { explainPort } from './processes/port.ts';

type ServiceOptions = {
  /** Served beside the interface's. */
  moreRoutes?: Routes;
  /** Of one of several processes. */
  siblings?: Siblings | undefined;
};

/**
 * Connects, starts the jobs, makes the first key and listens. Throws one line when a server can't be reached or the port is taken.
 */
export async function startService(
  config: Config,
  backing: { databaseUrl: string; s3: S3Settings },
  log: Logger & { access: AccessLog },
  { moreRoutes, siblings }: ServiceOptions = {},
) {
  const { bucket, region, formProfile } = config.objects;
  const sql = await connectDatabase(backing.databaseUrl, log);
  const searchSql = connectForSearch(backing.databaseUrl, log);
  const objects = createObjectStore({ ...backing.s3, bucket, region, formProfile });
  /** Aborts at the end of a shutdown's time, for the work that still runs. */
  const shutdown = new AbortController();
  let ending = false;
  const admission = new Admission(log);
  shutdown.signal.addEventListener('abort', () => admission.end(), { once: true });
  const http = createHttp({
    authenticators: () => areas.authenticators,
    admission,
    cors: createCors(config.server.corsOrigins),
    clients: new ClientFinder(config.server.trustedProxies),
    log,
    access: log.access,
    explainFailure: explainOutage,
    shutdown: shutdown.signal,
  });
  const clients = { sql, searchSql, objects };
  const areas = await createAreas(config, clients, { http, shutdown: shutdown.signal, log });
  const checks = [
    ...areas.checks,
    { name: 'capacity', essential: true, check: async () => admission.readiness() },
  ];
  const readiness = createReadinessWatch(checks, log);
  const health = {
    version,
    checks,
    metrics: [
      ...processMetrics(http.running, version),
      ...admission.metrics(),
      ...readiness.metrics,
      ...areas.metrics,
    ],
    requestMetrics: http.requestMetrics,
    ending: () => ending,
    siblings,
  };
  const versions = async () => ({ atrium: version, bun: Bun.version, ...(await readVersions(sql)) });
  const { origin: storeOrigin } = new URL(backing.s3.publicEndpoint);
  const fetch = createApp({
    http,
    areas,
    health,
    settings: { settings: config.settings, versions },
    console: { storeOrigin, signOn: signOnLink(config) },
    version,
    more: moreRoutes?.(http),
  });
  let server: ReturnType<typeof listen> | undefined;
  const lifecycle = createLifecycle([...areas.jobs, readiness.job], log);
  const close = async (timeoutMs: number): Promise<void> => {
    await lifecycle.stop(timeoutMs);
    objects.close();
    await Promise.all([sql, searchSql].map(closeDatabase));
  };
  const { host, port, sharesPort, shutdownTimeoutMs, shutdownDelayMs } = config.server;
  const open = (): void => {
    try {
      server = listen(fetch, { hostname: host, port, reusePort: sharesPort });
    } catch (error) {
      throw explainPort('PORT', { hostname: host, port }, error);
    }
  };
  let first: FirstKey;
  try {
    await lifecycle.start();
    // Nothing is ready before the key that was asked for is: the first request may come with it.
    first = await untilReachable(log, () => keepFirstKey(config, areas.access.bootstrap));
    open();
  } catch (error) {
    await close(shutdownTimeoutMs);
    throw error;
  }
  // The server's own count includes the answers that are still being read.
  const pending = (): number => Math.max(http.running(), server?.pendingRequests ?? 0);

  const isIdle = (): boolean => pending() === 0;

  return {
    url: toOrigin(host, server?.port ?? port),
    /** The first workspace and key; they exist before anything is answered. */
    first,
    /** Requests that are being answered. */
    running: pending,
    reload: areas.reload,
    /** Refuses new requests, finishes the running ones and the jobs, and closes every client. */
    async stop(): Promise<void> {
      ending = true;
      // Balancers see it at `/readyz`, and send nothing more by the end of this time.
      await Bun.sleep(shutdownDelayMs);
      const deadline = performance.now() + shutdownTimeoutMs;
      http.refuseNewRequests();
      if (!(await until(isIdle, { everyMs: 10, timeoutMs: shutdownTimeoutMs * 0.7 }))) {
        shutdown.abort(unavailable('The service is shutting down'));
        await until(isIdle, { everyMs: 10, timeoutMs: shutdownTimeoutMs * 0.05 });
      }
      await server?.stop(true);
      await close(Math.max(500, deadline - performance.now() - 500));
    },
  };
}

/** With `PUBLIC_URL`, the way begins where the provider leads back to: its cookie belongs to that host. */
const signOnLink = ({ access: { signOn } }: Config) =>
  signOn && { name: signOn.name, url: `${signOn.publicUrl ?? ''}/admin/sign-on` };

const closeDatabase = (sql: Sql): Promise<void> => sql.end({ timeout: 1 });
