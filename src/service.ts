// One process of the service: clients → areas → HTTP, and the orderly end of it all.

import { version } from '../package.json';
import { createApp } from './app.ts';
import { createAreas } from './areas.ts';
import type { Config, S3Settings } from './config.ts';
import { type ServiceError, unavailable } from './core/errors.ts';
import { createLifecycle, endsWithin } from './core/lifecycle.ts';
import type { AccessLog, Logger } from './core/logger.ts';
import { toOrigin } from './core/origin.ts';
import { createBoundary } from './http/boundary.ts';
import { createCors } from './http/cors.ts';
import { docsRoutes } from './http/docs.ts';
import { healthRoutes } from './http/health.ts';
import { createRequestMetrics } from './http/metrics.ts';
import type { Route } from './http/operation.ts';
import { processFigures } from './http/process-figures.ts';
import { isUnavailable, type Sql } from './infra/postgres/client.ts';
import { createBucketJob } from './infra/s3/bucket.ts';
import { createObjectStore } from './infra/s3/client.ts';
import { connectDatabase, connectForSearch } from './supervisor.ts';

export type Bootstrapped = { workspace: string; key: string | undefined };

export type Service = {
  url: string;
  /** Creates the first workspace and key where they are asked for and absent. */
  bootstrap(request: {
    workspace: string;
    key?: string;
    keep?: (key: string) => void;
  }): Promise<Bootstrapped>;
  /** Reads again what can change while it runs: the models file. */
  reload(): Promise<void>;
  /** Refuses new requests, finishes the running ones and the jobs, and closes every client. */
  stop(): Promise<void>;
};

/**
 * Connects, starts the jobs and listens; `embedderRoutes` are served beside the interface's.
 * Throws one line when a server can't be reached or the port is taken.
 */
export async function startService(
  config: Config,
  backing: { databaseUrl: string; s3: S3Settings },
  log: Logger & { access: AccessLog },
  embedderRoutes: readonly Route[] = [],
): Promise<Service> {
  const { bucket, region, formProfile } = config.objects;
  const sql = await connectDatabase(backing.databaseUrl, log);
  const searchSql = connectForSearch(backing.databaseUrl, log);
  const objects = createObjectStore({ ...backing.s3, bucket, region, formProfile });
  const areas = createAreas(config, { sql, searchSql, objects }, log);
  const metrics = createRequestMetrics();
  const cors = createCors(config.server.corsOrigins);
  let ending = false;
  const boundary = createBoundary({
    authenticators: areas.authenticators,
    cors,
    log,
    access: log.access,
    metrics,
    explainFailure: explainDatabaseFailure,
  });
  const health = {
    version,
    checks: areas.checks,
    figures: [...processFigures(boundary.running), ...areas.figures],
    metrics,
    ending: () => ending,
  };
  const described = [...areas.routes, ...healthRoutes(health), ...embedderRoutes];
  const routes = [...described, ...docsRoutes(described, version)];
  const app = createApp({ routes, boundary, cors });
  const lifecycle = createLifecycle([createBucketJob(objects, log), ...areas.jobs], log);
  const close = async (timeoutMs: number): Promise<void> => {
    await lifecycle.stop(timeoutMs);
    objects.close();
    await Promise.all([closeDatabase(sql), closeDatabase(searchSql)]);
  };
  const { host, port, sharesPort, shutdownTimeoutMs } = config.server;
  try {
    await lifecycle.start();
    app.listen({ hostname: host, port, reusePort: sharesPort });
  } catch (error) {
    await close(shutdownTimeoutMs);
    throw error;
  }

  return {
    url: toOrigin(host, app.server?.port ?? port),
    bootstrap: areas.bootstrap,
    reload: areas.reload,
    async stop() {
      const deadline = performance.now() + shutdownTimeoutMs;
      ending = true;
      boundary.refuseNewRequests();
      // The server's own count includes the answers that are still being read.
      const busy = () => boundary.running() > 0 || (app.server?.pendingRequests ?? 0) > 0;
      if (!(await endsWithin(whenIdle(busy), shutdownTimeoutMs * 0.7))) {
        areas.interrupt();
        await endsWithin(whenIdle(busy), shutdownTimeoutMs * 0.05);
      }
      await app.server?.stop(true);
      await close(Math.max(500, deadline - performance.now() - 500));
    },
  };
}

const closeDatabase = (sql: Sql): Promise<void> => sql.end({ timeout: 1 });

async function whenIdle(busy: () => boolean): Promise<void> {
  while (busy()) await Bun.sleep(10);
}

/** A database that is down, slow or going away is the caller's 503, not our 500. */
const explainDatabaseFailure = (error: unknown): ServiceError | undefined =>
  isUnavailable(error) ? unavailable('The database cannot be reached', { cause: error }) : undefined;
