// The composition root: clients → areas. No HTTP here.

import { join } from 'node:path';
import { version } from '../package.json';
import { createAccess, createSelfService } from './access/index.ts';
import { createBots } from './bots/index.ts';
import { createChat } from './chat/index.ts';
import { createCompute } from './compute/index.ts';
import type { Config } from './config.ts';
import { systemClock } from './core/clock.ts';
import type { Logger } from './core/logger.ts';
import type { Principal } from './core/principal.ts';
import { createDocuments, readIdentity } from './documents/index.ts';
import { createGateway, MODEL_USAGE_PROJECTION, toSource } from './gateway/index.ts';
import type { Area } from './http/area.ts';
import type { Http } from './http/http.ts';
import type { Sql } from './infra/postgres/client.ts';
import { createInvalidation } from './infra/postgres/invalidation.ts';
import { createJobQueue } from './infra/postgres/job-queue.ts';
import type { ObjectStore } from './infra/s3/client.ts';
import { createInfrastructure, createQueuedWork } from './infrastructure.ts';
import { createMcp } from './mcp/index.ts';
import { createTrends } from './trends/index.ts';
import { createUsage } from './usage/index.ts';

/** Bun's fetch goes by them. */
const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'];

export type Areas = Awaited<ReturnType<typeof createAreas>>;

export type Clients = {
  sql: Sql;
  /** Pool and session settings of searches. */
  searchSql: Sql;
  objects: ObjectStore;
};

export async function createAreas(
  config: Config,
  { sql, searchSql, objects }: Clients,
  { http, shutdown, log }: { http: Http; shutdown: AbortSignal; log: Logger },
) {
  const clock = systemClock;
  const invalidation = createInvalidation({ sql, log });
  const infrastructure = createInfrastructure({
    config,
    sql,
    pools: { main: sql, search: searchSql },
    objects,
    invalidation,
    clock,
    log,
  });
  const queue = createJobQueue({ sql, log, clock });
  const usage = await createUsage({
    sql,
    identity: () => readIdentity(sql),
    directory: join(config.dataDir, 'events'),
    settings: config.usage,
    projections: [MODEL_USAGE_PROJECTION],
    clock,
    log,
  });
  const access = createAccess({
    sql,
    invalidation,
    wakeMover: usage.wakeMover,
    clock,
    log,
    settings: config.access,
  });
  const compute = createCompute({ settings: config.compute, shutdown, log });
  const gateway = createGateway({
    sql,
    record: usage.record,
    describeKeys: access.describeKeys,
    source: toSource(config.gateway),
    sumsRetentionDays: config.gateway.sumsRetentionDays,
    bodyBytesMax: config.gateway.bodyBytesMax,
    connectsDirectly: !PROXY_VARIABLES.some((name) => config.gateway.variable(name)),
    embed: compute.embed,
    shutdown,
    clock,
    log,
  });
  const documents = createDocuments({
    sql,
    searchSql,
    meilisearch: config.search.meilisearch,
    objects,
    invalidation,
    queue,
    findUser: access.findUser,
    findUserByEmail: access.findUserByEmail,
    requireWorkspace: access.requireWorkspace,
    embeddings: gateway.embeddings,
    clock,
    log,
    settings: config.documents,
  });
  const chat = createChat({
    sql,
    invalidation,
    streamChat: gateway.streamChat,
    searchDocuments: documents.searchAsPerson,
    retrieve: (person, { query, limit, payer }, signal) =>
      documents.retrieveAsPerson(
        person,
        { query, limit, mode: 'hybrid', filter: undefined, minScore: undefined, payer },
        signal,
      ),
    visibleDocuments: documents.visibleTo,
    visibleToPerson: documents.visibleToPerson,
    clock,
    settings: config.chat,
    requireWorkspace: access.requireWorkspace,
    wakeMover: usage.wakeMover,
    shutdown,
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

  const mcp = createMcp({
    call: http.call,
    version,
    origins: config.server.corsOrigins.concat(config.server.origin ?? []),
    log,
  });
  const work = createQueuedWork(queue);
  const trends = createTrends({
    sql,
    requireWorkspace: access.requireWorkspace,
    measureStorage: documents.measureStorage,
    eventsWaiting: usage.waiting,
    jobsWaiting: async () => (await queue.backlog()).reduce((sum, { waiting }) => sum + waiting, 0),
    clock,
    log,
  });

  // In the order of start: each needs some of those before it and none of those after it.
  const parts = { infrastructure, usage, access, compute, gateway, documents, chat, bots, mcp, work, trends };
  const all: Area[] = Object.values(parts);
  return {
    ...parts,
    selfService: createSelfService({ sql, remaining: gateway.remaining }),
    jobs: all.flatMap(({ jobs }) => jobs),
    checks: all.flatMap(({ checks }) => checks),
    metrics: all.flatMap(({ metrics }) => metrics),
    authenticators: {
      ...access.authenticators,
      anonymous: config.gateway.anonymous ? anonymousIn(config.bootstrap.workspace ?? 'default') : undefined,
    },
    /** Reads again what can change while the service runs. */
    async reload(): Promise<void> {
      await gateway.reload();
      documents.reload();
    },
  };
}

/** The caller of a model without a key, in this workspace; without limits. */
const anonymousIn = (workspaceId: string): Principal => ({
  keyId: '',
  workspaceId,
  userId: '',
  email: '',
  scopes: new Set(['models'] as const),
  limits: {},
});
