// The service with access, conversations and usage events alone, on a fake model that takes its time: MODEL_DELAY_MS for
// each answer, or less by chance with MODEL_JITTER. Started as a process of its own; ends at SIGTERM.

import { join } from 'node:path';
import { createAccess } from '../../src/access/index.ts';
import { listen } from '../../src/app.ts';
import { createChat } from '../../src/chat/index.ts';
import { loadConfig } from '../../src/config.ts';
import { systemClock } from '../../src/core/clock.ts';
import { createLifecycle } from '../../src/core/lifecycle.ts';
import { createLogger } from '../../src/core/logger.ts';
import { connectDatabase } from '../../src/database.ts';
import { readIdentity } from '../../src/documents/index.ts';
import { explainOutage } from '../../src/infra/postgres/client.ts';
import { createInvalidation } from '../../src/infra/postgres/invalidation.ts';
import { createUsage } from '../../src/usage/index.ts';
import { createDawdlingModel } from './dawdling-model.ts';
import { serveRoutes } from './serve-routes.ts';

const config = loadConfig(process.env);
const log = createLogger(config.log);
const sql = await connectDatabase(config.databaseUrl ?? '', log);
const invalidation = createInvalidation({ sql, log });
const usage = await createUsage({
  projections: [],
  sql,
  identity: () => readIdentity(sql),
  directory: join(config.dataDir, 'events'),
  settings: config.usage,
  clock: systemClock,
  log,
});
const access = createAccess({
  sql,
  invalidation,
  wakeMover: usage.wakeMover,
  clock: systemClock,
  log,
  settings: config.access,
});
const chat = createChat({
  requireWorkspace: access.requireWorkspace,
  sql,
  invalidation,
  streamChat: createDawdlingModel({
    delayMs: Number(process.env['MODEL_DELAY_MS'] ?? 0),
    jitter: process.env['MODEL_JITTER'] === '1',
  }),
  searchDocuments: async () => ({ documents: [], total: 0 }),
  retrieve: async () => ({ passages: [] }),
  visibleDocuments: async () => new Set(),
  visibleToPerson: async () => new Set(),
  wakeMover: usage.wakeMover,
  shutdown: new AbortController().signal,
  clock: systemClock,
  settings: config.chat,
  log,
});
const { http, fetch } = serveRoutes([chat.routes, access.routes, usage.routes], {
  access: log.access,
  authenticators: () => access.authenticators,
  log,
  explainFailure: explainOutage,
});
const lifecycle = createLifecycle(
  [
    { name: 'postgres.invalidation', start: invalidation.start, stop: invalidation.close },
    ...usage.jobs,
    ...access.jobs,
    ...chat.jobs,
  ],
  log,
);
await lifecycle.start();
const { workspace = 'bench', apiKey } = config.bootstrap;
await access.bootstrap({ workspace, ...(apiKey === undefined ? {} : { key: apiKey }) });
const server = listen(fetch, { hostname: config.server.host, port: config.server.port, reusePort: true });
console.log(`listens on http://127.0.0.1:${server.port}`);
process.on('SIGTERM', async () => {
  http.refuseNewRequests();
  await server.stop();
  await lifecycle.stop(config.server.shutdownTimeoutMs);
  await sql.end({ timeout: 1 });
  await log.close();
  process.exit(0);
});
