// The composition root: clients → areas. No HTTP here.

import { join } from 'node:path';
import { createAccess } from './access/index.ts';
import { createBots } from './bots/index.ts';
import { createChat } from './chat/index.ts';
import { createCompute } from './compute/index.ts';
import type { Config } from './config.ts';
import { systemClock } from './core/clock.ts';
import { createDiskProbe } from './core/disk-fault.ts';
import { createInterruption } from './core/interruption.ts';
import type { Job } from './core/lifecycle.ts';
import type { Logger } from './core/logger.ts';
import type { Principal } from './core/principal.ts';
import { postgresFolder } from './database.ts';
import { createDocuments, readIdentity } from './documents/index.ts';
import { createGateway, MODEL_USAGE_PROJECTION, toSource } from './gateway/index.ts';
import type { Authenticators } from './http/credentials.ts';
import type { ReadinessCheck, ServiceState } from './http/health.ts';
import type { Metric } from './http/metrics.ts';
import type { Route } from './http/operation.ts';
import type { Sql } from './infra/postgres/client.ts';
import { createInvalidation } from './infra/postgres/invalidation.ts';
import type { ObjectStore } from './infra/s3/client.ts';
import { createUsage } from './usage/index.ts';

/** Confirms and expiries compare the two clocks; minutes between them would refuse what is in time. */
const CLOCK_SKEW_MS_MAX = 60_000;

/** Bun's fetch goes by them. */
const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'];

export type Areas = {
  routes: Route[];
  authenticators: Authenticators;
  bootstrap: ReturnType<typeof createAccess>['bootstrap'];
  /** Reads again what can change while the service runs. */
  reload(): Promise<void>;
  jobs: Job[];
  checks: ReadinessCheck[];
  metrics: Metric[];
  /** What runs at the end of a shutdown's time enters here, and is ended there with 503. */
  interruption: ReturnType<typeof createInterruption>;
};

export type Clients = {
  sql: Sql;
  /** Pool and session settings of searches. */
  searchSql: Sql;
  objects: ObjectStore;
};

export function createAreas(config: Config, { sql, searchSql, objects }: Clients, log: Logger): Areas {
  const clock = systemClock;
  const interruption = createInterruption();
  const invalidation = createInvalidation({ sql, log });
  const usage = createUsage({
    sql,
    identity: () => readIdentity(sql),
    directory: join(config.dataDir, 'events'),
    settings: config.usage,
    projections: [MODEL_USAGE_PROJECTION],
    clock,
    log,
  });
  const access = createAccess({ sql, invalidation, wakeMover: usage.wakeMover, clock, log });
  const compute = createCompute({ settings: config.compute, log });
  const documents = createDocuments({
    sql,
    searchSql,
    meilisearch: config.search.meilisearch,
    objects,
    invalidation,
    findUser: access.findUser,
    findUserByEmail: access.findUserByEmail,
    clock,
    log,
    settings: config.documents,
  });
  const gateway = createGateway({
    ...{ sql, clock, log, record: usage.record, awaitRecorded: usage.awaitRecorded },
    describeKeys: access.describeKeys,
    directory: join(config.dataDir, 'events', 'models'),
    source: toSource(config.gateway),
    connectsDirectly: !PROXY_VARIABLES.some((name) => config.gateway.variable(name)),
    embed: compute.embed,
    onInterrupt: interruption.onInterrupt,
  });
  const chat = createChat({
    sql,
    invalidation,
    streamChat: gateway.streamChat,
    searchDocuments: documents.searchAsPerson,
    visibleDocuments: documents.visibleTo,
    requireWorkspace: access.requireWorkspace,
    wakeMover: usage.wakeMover,
    log,
  });

  const bots = createBots({
    sql,
    invalidation,
    requireWorkspace: access.requireWorkspace,
    converse: chat.converse,
    clock,
    log,
  });

  // Of an embedded one; where the database is elsewhere there is no such folder.
  const probeDatabaseDisk = createDiskProbe(postgresFolder(config));
  const databaseAway = async (): Promise<ServiceState> => {
    const fault = await probeDatabaseDisk();
    const reason = fault === undefined ? '' : `: the disk of DATA_DIR/postgres ${fault}`;
    return { state: 'down', detail: `it cannot be reached${reason}` };
  };
  interruption.onInterrupt(chat.interrupt);
  interruption.onInterrupt(compute.interrupt);

  return {
    routes: [
      ...documents.routes,
      ...gateway.routes,
      ...chat.routes,
      ...bots.routes,
      ...compute.routes,
      ...usage.routes,
      ...access.routes,
    ],
    authenticators: {
      ...access.authenticators,
      anonymous: config.gateway.anonymous ? anonymousIn(config.bootstrap.workspace ?? 'default') : undefined,
    },
    reload: gateway.reload,
    bootstrap: access.bootstrap,
    jobs: [
      { name: 'postgres.invalidation', start: invalidation.start, stop: invalidation.close },
      // They begin before those who record events, and end after them.
      ...usage.jobs,
      ...access.jobs,
      // What others stand on ends after them.
      ...compute.jobs,
      ...gateway.jobs,
      ...documents.jobs,
      ...chat.jobs,
      ...bots.jobs,
    ],
    checks: [
      {
        name: 'postgres',
        essential: true,
        check: async () => {
          const [row] = await sql<{ now: Date }[]>`SELECT clock_timestamp() AS now`.catch(() => []);
          if (row === undefined) return databaseAway();
          const clockSkewMs = clock.now().getTime() - row.now.getTime();
          if (Math.abs(clockSkewMs) < CLOCK_SKEW_MS_MAX) return { state: 'ready' };
          return {
            state: 'degraded',
            detail: "its clock and this machine's differ",
            clock_skew_ms: clockSkewMs,
          };
        },
      },
      {
        name: 'object_store',
        essential: false,
        check: async () => {
          const fault = await objects.check();
          if (fault === undefined) return { state: 'ready' };
          return {
            state: 'degraded',
            detail: `it takes no uploads: the disk of DATA_DIR/object-store ${fault}`,
          };
        },
      },
      {
        name: 'key_revocation',
        essential: false,
        check: async () =>
          invalidation.connected()
            ? { state: 'ready' }
            : { state: 'degraded', detail: 'no notices from the database: every key is looked up' },
      },
      ...documents.checks,
      ...usage.checks,
      ...gateway.checks,
      ...compute.checks,
    ],
    metrics: [
      ...documents.metrics,
      ...usage.metrics,
      ...gateway.metrics,
      ...chat.metrics,
      ...compute.metrics,
    ],
    interruption,
  };
}

/** The caller of a model without a key, in this workspace; without limits. */
const anonymousIn = (workspaceId: string): Principal => ({
  ...{ keyId: '', workspaceId, userId: '', email: '' },
  scopes: new Set(['models'] as const),
  limits: {},
});
