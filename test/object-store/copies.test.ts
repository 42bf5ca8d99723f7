// A folder of a store that was copied, that a newer version used, or whose store was killed: no content that an object may name is lost.

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DeleteObjectsCommand, ListObjectsV2Command, type S3Client } from '@aws-sdk/client-s3';
import { eventually } from '../support/child.ts';
import { startChildStore } from './child-store.ts';
import {
  BUCKET,
  callsBy,
  countFiles,
  createClient,
  createDirectory,
  startStore,
  storeOptions,
  waitFor,
} from './fixture.ts';

const ALL = 300;

let original: string;
beforeAll(async () => {
  original = await createDirectory();
  const store = await startStore(storeOptions(original));
  await put(createClient(store.endpoint));
  await store.close();
});
afterAll(() => rm(original, { recursive: true, force: true }));

async function put(client: S3Client): Promise<void> {
  const keys = Array.from({ length: ALL }, (_, index) => `key-${index}`);
  for (let at = 0; at < keys.length; at += 20)
    await Promise.all(keys.slice(at, at + 20).map((key) => callsBy(client).put(key, `content of ${key}`)));
}

async function keysIn(folder: string): Promise<number> {
  const store = await startStore(storeOptions(folder));
  const client = createClient(store.endpoint);
  const { KeyCount } = await client.send(new ListObjectsV2Command({ Bucket: BUCKET }));
  client.destroy();
  await store.close();
  return KeyCount ?? 0;
}

async function copyOf(folder: string): Promise<string> {
  const copy = await createDirectory();
  await cp(folder, copy, { recursive: true });
  return copy;
}

test('an older catalogue removes no file that only a newer one names', async () => {
  const copy = await copyOf(original);
  const store = await startStore(storeOptions(copy));
  const client = callsBy(createClient(store.endpoint));
  await client.put('later', 'later');
  await store.close();
  await cp(join(original, 'catalogue.sqlite'), join(copy, 'catalogue.sqlite'));
  expect(await keysIn(copy)).toBe(ALL);
  expect(await countFiles(copy)).toBe(ALL + 1);
  await rm(copy, { recursive: true });
});

test('a catalogue of a newer version is refused, and left as it is', async () => {
  const copy = await copyOf(original);
  const catalogue = join(copy, 'catalogue.sqlite');
  const version = (): unknown => {
    using database = new Database(catalogue, { readonly: true });
    return database.query('PRAGMA user_version').values()[0]?.[0];
  };
  {
    using database = new Database(catalogue);
    database.run('PRAGMA user_version = 4');
  }
  await expect(startStore(storeOptions(copy))).rejects.toThrow(
    `${catalogue} is of another version of Atrium, which is to be started again; nothing was changed`,
  );
  expect(version()).toBe(4);
  expect(await countFiles(copy)).toBe(ALL);
  await rm(copy, { recursive: true });
});

/** A copy whose store was killed as it deleted everything, and how many files of what it deleted are left. */
async function killedAmidDeletions(): Promise<{ copy: string; left: number }> {
  const copy = await copyOf(original);
  const child = await startChildStore(copy);
  const Objects = Array.from({ length: ALL }, (_, index) => ({ Key: `key-${index}` }));
  const deleting = createClient(child.endpoint)
    .send(new DeleteObjectsCommand({ Bucket: BUCKET, Delete: { Objects } }))
    .catch(() => undefined);
  await waitFor('the first to be gone', async () => (await countFiles(copy)) < ALL);
  await child.kill();
  await deleting;
  return { copy, left: await countFiles(copy) };
}

test('a crash amid deletions leaves no file of what was deleted', async () => {
  // The store may be done with all of them before it is seen that it has begun.
  const { copy } = await eventually('a crash that leaves some', async () => {
    const killed = await killedAmidDeletions();
    if (killed.left > 0) return killed;
    await rm(killed.copy, { recursive: true });
    return undefined;
  });
  expect(await keysIn(copy)).toBe(0);
  expect(await countFiles(copy)).toBe(0);
  await rm(copy, { recursive: true });
});
