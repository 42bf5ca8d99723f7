// What several instances of the service have in common: Postgres, MinIO, NATS and an upstream of models.

import { join } from 'node:path';
import { startMockUpstream } from '../../support/mock-upstream.ts';
import { startNats } from '../../support/nats-server.ts';
import { startRealStore } from '../../support/object-stores.ts';
import { startPostgresServer } from '../../support/postgres-server.ts';
import { writeModelsFile } from '../seeds/parts/models.ts';
import type { PlannedParts } from '../seeds/planned.ts';
import { retentionSeconds } from '../seeds/sweeps.ts';

/** As the clients of the seeds know a site. */
export const SHARED_PARTS: PlannedParts = {
  processes: 2,
  database: 'server',
  buffer: 'nats',
  store: 'minio',
  disk: 'plain',
  olderCopy: false,
  steppedClock: false,
  steppedDatabaseClock: false,
};

type Options = {
  /** The models file is there; the caller removes it. */
  folder: string;
  timeoutsMs: NonNullable<Parameters<typeof writeModelsFile>[1]['timeoutsMs']>;
  models?: Record<string, string>;
};

/** The settings that all instances share; each has a port and a folder of its own. */
export async function startSharedServers({ folder, timeoutsMs, models = {} }: Options) {
  await using begun = new AsyncDisposableStack();
  const [database, nats, store, upstream] = await Promise.all([
    startPostgresServer({ settings: { max_connections: '200' } }).then((server) => begun.use(server)),
    startNats().then((server) => begun.use(server)),
    startRealStore('minio').then((server) => {
      begun.defer(server.stop);
      return server;
    }),
    startMockUpstream().then((server) => begun.use(server)),
  ]);
  const modelsFile = join(folder, 'models.json');
  writeModelsFile(modelsFile, { url: upstream.url, key: 'shared', timeoutsMs, more: models });
  const kept = begun.move();
  return {
    environment: {
      ...store.environment,
      DATABASE_URL: database.url,
      NATS_URL: nats.url,
      NATS_MONITOR_URL: nats.monitorUrl,
      MODELS_CONFIG: modelsFile,
      COMPUTE_THREADS: '1',
      UPLOAD_RETENTION_SECONDS: `${retentionSeconds(SHARED_PARTS)}`,
      SWEEP_INTERVAL_SECONDS: '1',
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
