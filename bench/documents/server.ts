// The service with one route more: authenticated and bare. What it costs is the floor of every other route.

import { Type } from '@sinclair/typebox';
import { loadConfig } from '../../src/config.ts';
import { createLogger } from '../../src/core/logger.ts';
import { route } from '../../src/http/operation.ts';
import { startBacking } from '../../src/processes/backing.ts';
import { startService } from '../../src/service.ts';

const bare = route(
  {
    id: 'bench.bare',
    method: 'GET',
    path: '/bench/{workspace_id}/bare',
    area: 'bench',
    summary: 'The least that an authenticated route can do',
    credential: 'api-key-header',
    scope: 'documents:read',
    parameters: Type.Object({ workspace_id: Type.String() }),
    query: Type.Object({}),
    responses: {},
  },
  () => Response.json({ status: 'ok' }),
);

const config = loadConfig(process.env);
const log = createLogger(config.log);
const backing = await startBacking(config, log);
const service = await startService(config, backing, log, { embedderRoutes: [bare] });
console.log(`listens on ${service.url}`);
process.on('SIGTERM', async () => {
  await service.stop();
  await backing.stop();
  await log.close();
  process.exit(0);
});
