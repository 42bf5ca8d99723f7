// The service is killed, again and again and at any moment, while people work with it.

import { expect, test } from 'bun:test';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, freePort } from '../support/child.ts';
import { testDatabase } from '../support/database.ts';
import { freshFolder } from '../support/folders.ts';
import { missingStore, startStore } from '../support/object-stores.ts';
import { startService } from '../support/service.ts';
import { configuredBucket, embeddedBucket } from './support/bucket.ts';
import { crashRepeatedly } from './support/crash-site.ts';
import { createRandom, type Random, seedOfRun } from './support/random.ts';

test('a killed process group loses nothing that it acknowledged, and leaves no orphans', () =>
  withSeed(async (random, dataDir) => {
    // Some starts are of several processes.
    const environment = (): Record<string, string> =>
      random.chance(0.25) ? { PROCESSES: '2', PORT: `${freePort()}` } : {};
    const site = { dataDir, environment, bucket: () => embeddedBucket(dataDir), random };
    const documentsBytes = await crashRepeatedly(site, 6);
    // What uploads left behind that were cut off would be megabytes more.
    expect(bytesIn(join(dataDir, 'object-store')) - documentsBytes).toBeLessThan(2_000_000);
  }));

test('the processes of a killed owner end, and leave the port and the data to the next start', () =>
  withSeed(async (_random, dataDir) => {
    const environment = { PROCESSES: '2', PORT: `${freePort()}` };
    const killed = await startService({ dataDir, environment, detached: true });
    try {
      process.kill(killed.child.pid, 'SIGKILL');
      await killed.child.exited;
      await using service = await startService({ dataDir, environment });
      await eventually('the processes of the killed owner to end', () => !groupExists(killed.child.pid));
      for (let count = 0; count < 50; count++) {
        const response = await fetch(`${service.url}/readyz`, { headers: { connection: 'close' } });
        expect(response.status).toBe(200);
      }
    } finally {
      if (groupExists(killed.child.pid)) process.kill(-killed.child.pid, 'SIGKILL');
    }
  }));

const missing = missingStore('minio');
test.skipIf(missing !== undefined)(
  missing ?? 'the same with a database and a store that outlive the service',
  () =>
    withSeed(async (random, dataDir) => {
      const database = await testDatabase();
      const store = await startStore('minio');
      try {
        const environment = () => ({ DATABASE_URL: database.url, ...store.environment });
        const bucket = () => configuredBucket(store.environment);
        await crashRepeatedly({ dataDir, environment, bucket, random }, 2);
      } finally {
        await store.stop();
        await database.drop();
      }
    }),
);

function groupExists(leader: number): boolean {
  try {
    return process.kill(-leader, 0);
  } catch {
    return false;
  }
}

/** A fresh folder, and chance of which a failure tells the seed. */
async function withSeed(run: (random: Random, dataDir: string) => Promise<void>): Promise<void> {
  const seed = seedOfRun();
  const dataDir = freshFolder();
  try {
    await run(createRandom(seed), dataDir);
  } catch (error) {
    console.error(`FAULT_SEED=${seed}`);
    throw error;
  }
}

const bytesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(join(folder, name)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
