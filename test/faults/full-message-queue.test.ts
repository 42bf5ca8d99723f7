// The disk of the message queue is full, for real: what was acknowledged is stored, what cannot be taken is refused with 503
// in time, /readyz says so, and once the queue has room and works the service goes on by itself.

import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createMetrics, eventOf } from '../acceptance/support/metrics.ts';
import { eventually } from '../support/child.ts';
import { freshFolder } from '../support/folders.ts';
import { machineNow } from '../support/machine-time.ts';
import { missingNats, startNats } from '../support/nats-server.ts';
import { startPostgresServer } from '../support/postgres-server.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';
import { mountDisk } from '../support/small-disk.ts';
import { createPlainCaller } from './support/caller.ts';

/** The contract: ingestion answers within 2 s. The rest is this machine's, of which the events that are taken tell. */
const ANSWERED_WITHIN_MS = 4000;
const TIMES_TAKEN = 20;

const missing = missingNats();
const disk = missing === undefined ? mountDisk('24m') : undefined;
const why = missing ?? (disk === undefined ? 'no file system can be mounted here' : undefined);

test.skipIf(disk === undefined)(
  `a full disk of the message queue loses nothing that was acknowledged${why === undefined ? '' : ` (${why})`}`,
  async () => {
    const full = disk as NonNullable<typeof disk>;
    const dataDir = freshFolder();
    const postgres = await startPostgresServer();
    const nats = await startNats({ store: join(full.path, 'store') });
    try {
      await using service = await startService({
        dataDir,
        environment: {
          DATABASE_URL: postgres.url,
          NATS_URL: nats.url,
          NATS_MONITOR_URL: nats.monitorUrl,
          EVENT_BUFFER_BYTES_MAX: `${16 * 2 ** 20}`,
        },
      });
      const call = createPlainCaller(service.url);
      const metrics = createMetrics(call, { workspace: WORKSPACE, key: BOOTSTRAP_KEY });
      const acknowledged: string[] = [];
      const send = async (): Promise<number> => {
        const fill = randomBytes(20_000).toString('base64');
        const event = eventOf({ source: 'full-queue', type: 'a.b', data: { value: 1, fill } });
        const { status } = await metrics.sendAll([event]);
        if (status === 202) acknowledged.push(String(event['id']));
        return status;
      };
      const usage = async () => {
        const { text } = await call('GET', '/readyz');
        const { services } = JSON.parse(text) as {
          services: Record<string, { state: string; detail?: string }>;
        };
        return services['usage_events'];
      };
      const beganAt = machineNow();
      for (let index = 0; index < 5; index++)
        await eventually('an event to be taken', async () => (await send()) === 202);
      const takenMs = (machineNow() - beganAt) / 5;
      await eventually('the buffer to be ready', async () => (await usage())?.state === 'ready');
      full.fill();
      // A busy machine may refuse one for its time; a full disk is said, and lasts.
      await eventually('a refusal', async () => (await send()) === 503 && (await usage())?.state !== 'ready');
      const startedAt = machineNow();
      expect(await send()).toBe(503);
      expect(machineNow() - startedAt).toBeLessThan(ANSWERED_WITHIN_MS + TIMES_TAKEN * takenMs);
      expect((await usage())?.state).not.toBe('ready');
      full.free();
      // This server takes nothing more before it is started again, also once its disk has room.
      await nats.kill();
      await nats.start();
      await eventually('an event to be taken', async () => (await send()) === 202);
      await eventually('/readyz to say so', async () => (await usage())?.state === 'ready');
      const stored = await eventually('all of them to be stored', async () => {
        const items = (await metrics.all()).filter(({ source }) => source === 'full-queue');
        return acknowledged.every((id) => items.some(({ event_id }) => event_id === id)) && items;
      });
      const ids = stored.map(({ event_id }) => event_id);
      expect(new Set(ids).size).toBe(ids.length);
    } finally {
      await nats.stop();
      await postgres.stop();
      full.remove();
    }
  },
);
