// The clocks of the database and of the service differ.

import { afterAll, expect, test } from 'bun:test';
import { createLibrary } from '../acceptance/support/library.ts';
import { eventually } from '../support/child.ts';
import { startPostgresServer } from '../support/postgres-server.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';
import { clockAhead, missingClock, removeLeftovers } from './seeds/parts/clock.ts';
import { createPlainCaller } from './support/caller.ts';

const HOUR_SECONDS = 3600;

afterAll(removeLeftovers);

const missing = missingClock();
test.skipIf(missing !== undefined).each([2, -2])(
  missing ?? 'documents are confirmed, changed and found with the database %d hours ahead',
  async (hours) => {
    await using postgres = await startPostgresServer({ environment: clockAhead(hours * HOUR_SECONDS) });
    await using service = await startService({ environment: { DATABASE_URL: postgres.url } });
    const call = createPlainCaller(service.url);
    await eventually('the difference to be seen', async () => {
      const { services } = JSON.parse((await call('GET', '/readyz')).text) as {
        services: Record<string, { clock_skew_ms?: number }>;
      };
      return Math.abs(services['postgres']?.clock_skew_ms ?? 0) > HOUR_SECONDS * 1000;
    });
    const library = createLibrary(call, { workspace: WORKSPACE, key: BOOTSTRAP_KEY });
    const { id } = await library.stored({ name: 'a.txt' });
    expect((await library.patch(id, { summary: 'changed' })).status).toBe(200);
    expect((await library.detail(id)).status).toBe(200);
  },
);
