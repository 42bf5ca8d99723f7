// The service with one route more: authenticated and bare. What it costs is the floor of every other route.

import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { loadConfig } from '../../src/config.ts';
import { createLogger } from '../../src/core/logger.ts';
import type { Routes } from '../../src/http/area.ts';
import { parameters } from '../../src/http/input.ts';
import { startBacking } from '../../src/processes/backing.ts';
import { startService } from '../../src/service.ts';

const bare: Routes = ({ plugin }) =>
  new Elysia().use(plugin).get('/bench/:workspace_id/bare', () => Response.json({ status: 'ok' }), {
    key: { in: 'api-key-header', scope: 'documents:read' },
    params: parameters(Type.Object({ workspace_id: Type.String() })),
    detail: { hide: true },
  });

const config = loadConfig(process.env);
const log = createLogger(config.log);
const backing = await startBacking(config, log);
const service = await startService(config, backing, log, { moreRoutes: bare });
console.log(`listens on ${service.url}`);
process.on('SIGTERM', async () => {
  await service.stop();
  await backing.stop();
  await log.close();
  process.exit(0);
});
