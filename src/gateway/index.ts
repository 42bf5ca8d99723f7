// Area B: the model gateway. Every call of a model goes through `serve`: cache, limits, attempts, answer, account.

import { Elysia } from 'elysia';
import type { Clock } from '../core/clock.ts';
import type { Embeddings, EmbedTexts } from '../core/embed-texts.ts';
import type { RecordEvents } from '../core/event.ts';
import type { Logger } from '../core/logger.ts';
import type { Principal, RemainingLimits } from '../core/principal.ts';
import type { AreaWithRoutes, Routes } from '../http/area.ts';
import type { Sql } from '../infra/postgres/client.ts';
import { createSweep } from '../infra/postgres/sweep.ts';
import { UsageRecords } from './accounting/usage-records.ts';
import { Allowances } from './allowances.ts';
import { AttemptLog } from './attempt-log.ts';
import { Attempts } from './attempts.ts';
import { AnswerCache } from './cache.ts';
import { CatalogueKeeper, type CatalogueSource } from './catalogue/current.ts';
import type { StreamChat } from './chat-call.ts';
import { createStreamChat } from './conversation.ts';
import { Entry } from './entry.ts';
import { createFirstTokenMetric, createModelMetrics, createModelsCheck } from './health.ts';
import { createKeptEmbeddings } from './kept-embeddings.ts';
import { KEEP_ALIVE_MS } from './limits.ts';
import { createModelUsage, type DescribeKeys } from './operations/model-usage.ts';
import { modelCallRoutes } from './routes/model-calls.ts';
import { modelUsageRoutes } from './routes/model-usage.ts';
import { modelsStateRoutes } from './routes/models-state.ts';
import { ModelService } from './serve.ts';
import { createAllowanceStore } from './store/allowances.ts';
import { createModelUsageStore } from './store/model-usage.ts';
import { Targets } from './targets.ts';
import { WorkspaceEmbeddings } from './workspace-embeddings.ts';

export { MODEL_USAGE_PROJECTION } from './accounting/projection.ts';
export { checkModels, toSource } from './catalogue/current.ts';
export { MODEL_SETTINGS } from './settings.ts';

export type GatewayDeps = {
  sql: Sql;
  source: CatalogueSource;
  /** Largest request. */
  bodyBytesMax: number;
  /** False where a proxy stands between, and a connection of our own would tell nothing. */
  connectsDirectly: boolean;
  /** 0 keeps sums of usage for ever. */
  sumsRetentionDays: number;
  embed: EmbedTexts;
  describeKeys: DescribeKeys;
  record: RecordEvents;
  shutdown: AbortSignal;
  clock: Clock;
  log: Logger;
};

const SUMS_SWEEP_MS = 600_000;
const SUMS_SWEEP_ROWS = 5000;

type AccountsDeps = Pick<GatewayDeps, 'describeKeys' | 'clock'> & { sql: Sql };

/** The accounts, for the command line alone, too. */
export const createModelUsageAdministration =
  (deps: AccountsDeps): Routes =>
  (http) =>
    modelUsageRoutes(http, createModelUsage({ ...deps, store: createModelUsageStore(deps.sql) }));

export function createGateway(deps: GatewayDeps): AreaWithRoutes & {
  streamChat: StreamChat;
  embeddings: Embeddings;
  /** Returns the remainders of the limits of the caller's key, as the next call of a model would find them. */
  remaining(principal: Principal): Promise<RemainingLimits>;
  /** Reads the models again. */
  reload(): Promise<void>;
} {
  const { sql, source, embed, record, shutdown, clock, log } = deps;
  const targets = new Targets();
  const catalogue = new CatalogueKeeper({ source, targets, log });
  const cache = new AnswerCache();
  const records = new UsageRecords({ record, clock, log });
  const firstToken = createFirstTokenMetric();
  const attempts = new Attempts({
    log: new AttemptLog(log),
    connectsDirectly: deps.connectsDirectly,
    keepAliveMs: KEEP_ALIVE_MS,
    embed,
  });
  const allowances = new Allowances({ store: createAllowanceStore(sql), log });
  const { sumsRetentionDays } = deps;
  const modelUsage = createModelUsageStore(sql);
  const sumsRetention = createSweep({
    sql,
    name: 'models.sums-retention',
    intervalMs: SUMS_SWEEP_MS,
    horizon: () => new Date(clock.now().getTime() - sumsRetentionDays * 86_400_000),
    deleteSome: (before) => modelUsage.deleteSome(before, SUMS_SWEEP_ROWS),
    log,
  });
  const service = new ModelService({
    catalogue,
    allowances,
    cache,
    attempts,
    records,
    keepAliveMs: KEEP_ALIVE_MS,
    shutdown,
    firstToken,
  });
  const entry = new Entry(service, shutdown);

  return {
    routes: (http) =>
      new Elysia({ name: 'gateway' })
        .use(
          modelCallRoutes(http, {
            entry,
            embeddings: new WorkspaceEmbeddings(entry, catalogue),
            catalogue,
            bodyBytesMax: deps.bodyBytesMax,
          }),
        )
        .use(modelsStateRoutes(http, { catalogue, targets, clock }))
        .use(createModelUsageAdministration({ sql, describeKeys: deps.describeKeys, clock })(http)),
    streamChat: createStreamChat({ service, catalogue }),
    embeddings: createKeptEmbeddings({ service, embed, catalogue, allowances }),
    remaining: (caller) => allowances.remaining(caller, clock.now()),
    reload: () => catalogue.reload(),
    jobs: [records.job, allowances.job, catalogue.job, ...(sumsRetentionDays === 0 ? [] : [sumsRetention])],
    checks: [createModelsCheck(catalogue, targets, records)],
    metrics: [firstToken, ...createModelMetrics(targets, cache), ...records.metrics],
  };
}
