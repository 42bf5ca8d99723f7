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
import { Allowances, type Limited } from './allowances.ts';
import { createAttemptLog } from './attempt-log.ts';
import { createAnswerCache } from './cache.ts';
import { type CatalogueSource, createCatalogue } from './catalogue/current.ts';
import type { StreamChat } from './chat-call.ts';
import { createConnectProbe } from './connect-probe.ts';
import { createServeEmbeddings } from './endpoints/embeddings.ts';
import { createForward } from './endpoints/forward.ts';
import { createModelEmbeddings } from './endpoints/model-embeddings.ts';
import { createModels } from './endpoints/models.ts';
import { createWorkspaceEmbeddings } from './endpoints/workspace-embeddings.ts';
import { type AttemptCounts, createExecute } from './execute.ts';
import { createFirstTokenMetric, createGatewayHealth } from './health.ts';
import { KEEP_ALIVE_MS } from './limits.ts';
import { createModelUsage, type DescribeKeys } from './operations/model-usage.ts';
import { createModelsState } from './operations/models-state.ts';
import { modelCallRoutes } from './routes/model-calls.ts';
import { modelUsageRoutes } from './routes/model-usage.ts';
import { modelsStateRoutes } from './routes/models-state.ts';
import { createServe } from './serve.ts';
import { createAllowanceStore } from './store/allowances.ts';
import { createModelUsageStore } from './store/model-usage.ts';
import { createStreamChat } from './stream-chat.ts';
import { createTargets, toChoices } from './targets.ts';

export { MODEL_USAGE_PROJECTION } from './accounting/projection.ts';
export { checkModels } from './catalogue/current.ts';
export { toSource } from './catalogue/source.ts';
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
  const targets = createTargets();
  const catalogue = createCatalogue({
    source,
    build: targets.build,
    buildUnlisted: targets.buildUnlisted,
    log,
  });
  const cache = createAnswerCache();
  const records = new UsageRecords({ record, clock, log });
  const attempts: AttemptCounts = new Map();
  const firstToken = createFirstTokenMetric();
  const health = createGatewayHealth({
    catalogue,
    targets: targets.all,
    cache,
    records,
    attempts,
    firstToken,
  });
  const execute = createExecute({
    keepAliveMs: KEEP_ALIVE_MS,
    attempts,
    connectProbe: createConnectProbe(deps.connectsDirectly),
    embed,
    logFailedAttempt: createAttemptLog(log),
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
  const serve = createServe({
    catalogue,
    allowances,
    cache,
    execute,
    records,
    keepAliveMs: KEEP_ALIVE_MS,
    shutdown,
    firstToken,
  });
  const remaining = (caller: Limited): Promise<RemainingLimits> => allowances.remaining(caller, clock.now());
  const embeddings = createServeEmbeddings({ serve, allowances, catalogue });

  return {
    routes: (http) =>
      new Elysia({ name: 'gateway' })
        .use(
          modelCallRoutes(http, {
            forward: createForward({ serve, embeddings, shutdown }),
            workspaceEmbeddings: createWorkspaceEmbeddings({ embeddings, catalogue, shutdown }),
            models: createModels(catalogue),
            choices: toChoices(catalogue.known),
            bodyBytesMax: deps.bodyBytesMax,
          }),
        )
        .use(modelsStateRoutes(http, createModelsState({ catalogue, targets: targets.all, attempts, clock })))
        .use(createModelUsageAdministration({ sql, describeKeys: deps.describeKeys, clock })(http)),
    streamChat: createStreamChat({ serve, catalogue }),
    embeddings: createModelEmbeddings({ embeddings, embed, catalogue, remaining }),
    remaining,
    reload: catalogue.reload,
    jobs: [records.job, allowances.job, catalogue.job, ...(sumsRetentionDays === 0 ? [] : [sumsRetention])],
    checks: [health.check],
    metrics: [...health.metrics, ...records.metrics],
  };
}
