// A backup of the database is restored beside a bucket that has gone on: nothing of what was confirmed since is deleted
// before an operator has said so.

import { expect, test } from 'bun:test';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createLibrary } from '../acceptance/support/library.ts';
import { eventually } from '../support/child.ts';
import { freshFolder } from '../support/folders.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';
import { embeddedBucket, listKeys } from './support/bucket.ts';
import { createPlainCaller } from './support/caller.ts';

const ADMIN = join(import.meta.dir, '../../src/admin.ts');
const RETENTION_SECONDS = 2;

async function admin(dataDir: string, ...words: string[]): Promise<string> {
  const child = Bun.spawn([process.execPath, ADMIN, ...words], {
    env: { PATH: process.env['PATH'], DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  expect(await child.exited).toBe(0);
  return new Response(child.stdout).text();
}

test('a restored backup of the database sweeps nothing that was confirmed since, until an operator decides', async () => {
  const folder = freshFolder();
  const [dataDir, backup] = [join(folder, 'data'), join(folder, 'backup')];
  const start = (environment: Record<string, string> = {}) => startService({ dataDir, environment });
  const store = async (url: string): Promise<string> => {
    const library = createLibrary(createPlainCaller(url), { workspace: WORKSPACE, key: BOOTSTRAP_KEY });
    const { storage_url } = await library.stored();
    return storage_url.slice('s3://atrium/'.length);
  };
  const bucketState = async (url: string) => {
    const answer = await fetch(`${url}/readyz`);
    return ((await answer.json()) as { services: { bucket: { state: string; detail?: string } } }).services
      .bucket;
  };
  let known: string;
  {
    await using service = await start();
    known = await store(service.url);
  }
  cpSync(join(dataDir, 'postgres'), backup, { recursive: true });
  let newer: string;
  {
    await using service = await start();
    newer = await store(service.url);
    expect(await bucketState(service.url)).toEqual({ state: 'ready' });
  }
  rmSync(join(dataDir, 'postgres'), { recursive: true });
  cpSync(backup, join(dataDir, 'postgres'), { recursive: true });

  // Not before: on a slow machine the sweeper would take an upload before its confirm.
  await using service = await start({
    UPLOAD_RETENTION_SECONDS: `${RETENTION_SECONDS}`,
    SWEEP_INTERVAL_SECONDS: '1',
  });
  await eventually(
    'the service to say so',
    async () => (await bucketState(service.url)).state === 'degraded',
  );
  const abandoned = Date.now() + (RETENTION_SECONDS + 3) * 1000;
  await eventually('sweeps that would have deleted it', () => Date.now() > abandoned);
  expect(await listKeys(embeddedBucket(dataDir))).toEqual([known, newer].sort());
  expect((await bucketState(service.url)).detail).toMatch(
    /older than the bucket.*bun run admin bucket adopt$/,
  );
  expect(service.child.output().split('older than the bucket').length).toBe(2);

  expect(await admin(dataDir, 'bucket', 'show')).toContain('older than the bucket');
  await admin(dataDir, 'bucket', 'adopt');
  await eventually('the decision to be carried out', async () => {
    const keys = await listKeys(embeddedBucket(dataDir));
    return keys.length === 1 && keys[0] === known;
  });
  expect(await bucketState(service.url)).toEqual({ state: 'ready' });
});
