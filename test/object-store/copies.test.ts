// A store that is copied while it runs, without anybody's care: the copy says what is wrong, and nothing of it is lost.

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, utimesSync } from 'node:fs';
import { copyFile, cp, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DeleteObjectsCommand, ListObjectsV2Command, type S3Client } from '@aws-sdk/client-s3';
import { setAsideUnnamed } from '../../src/embedded/object-store/index.ts';
import { limits } from '../../src/embedded/object-store/limits.ts';
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

const EARLY = 5;
const KNOWN = 60;
const ALL = 500;
const RETENTION_SECONDS = 86_400;

/** As it was left in the end, and a copy that was taken as it ran. */
let original: string;
let torn: string;
beforeAll(async () => {
  [original, torn] = [await createDirectory(), await createDirectory()];
  const first = await startStore(storeOptions(original));
  const client = createClient(first.endpoint);
  await callsBy(client).createBucket();
  await put(client, 0, EARLY);
  await put(client, EARLY, KNOWN);
  await first.close();
  // The one that starts writes a snapshot of what there is, and the next one a minute later.
  const snapshot = join(original, 'catalogue.snapshot.sqlite');
  await rm(snapshot, { force: true });
  const second = await startStore(storeOptions(original));
  await waitFor('the snapshot', () => existsSync(snapshot));
  await copyFile(snapshot, join(torn, 'catalogue.snapshot.sqlite'));
  await copyFile(join(original, 'catalogue.sqlite'), join(torn, 'catalogue.sqlite'));
  await put(createClient(second.endpoint), KNOWN, ALL);
  await copyFile(join(original, 'catalogue.sqlite-wal'), join(torn, 'catalogue.sqlite-wal'));
  await cp(join(original, 'blobs'), join(torn, 'blobs'), { recursive: true });
  await second.close();
});
afterAll(async () => {
  for (const folder of [original, torn]) await rm(folder, { recursive: true, force: true });
});

async function put(client: S3Client, from: number, to: number): Promise<void> {
  const keys = Array.from({ length: to - from }, (_, index) => `key-${from + index}`);
  for (let at = 0; at < keys.length; at += 20) {
    const some = keys.slice(at, at + 20);
    await Promise.all(some.map((key) => callsBy(client).put(key, `content of ${key}`)));
  }
}

const countIn = async (folder: string, name: string): Promise<number> =>
  (await readdir(join(folder, name))).length;

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

test('a copy of a running store does not start on its torn catalogue, names what mends it, and loses no file', async () => {
  const copy = await copyOf(torn);
  for (let attempt = 0; attempt < 2; attempt++) {
    const refusal = String(await startStore(storeOptions(copy)).catch((error: Error) => error.message));
    expect(refusal).toMatch(/no name in the catalogue|is damaged/);
    expect(refusal).toContain(`${join(copy, 'catalogue.snapshot.sqlite')} is whole`);
    expect(refusal).not.toContain('\n');
    expect(await countFiles(copy)).toEqual({ staging: 0, blobs: ALL });
  }

  // As it says. What was written after the snapshot is kept aside.
  await copyFile(join(copy, 'catalogue.snapshot.sqlite'), join(copy, 'catalogue.sqlite'));
  expect(await keysIn(copy)).toBe(KNOWN);
  expect(await countFiles(copy)).toEqual({ staging: 0, blobs: KNOWN });
  expect(await countIn(copy, 'aside')).toBe(ALL - KNOWN);

  // With a catalogue that names them they come back, and the store goes on as before.
  await copyFile(join(original, 'catalogue.sqlite'), join(copy, 'catalogue.sqlite'));
  expect(await keysIn(copy)).toBe(ALL);
  expect(await countIn(copy, 'aside')).toBe(0);
  expect(await keysIn(copy)).toBe(ALL);
  await rm(copy, { recursive: true });
});

test('what was written onto a snapshot is there after a crash', async () => {
  const copy = await copyOf(torn);
  await copyFile(join(copy, 'catalogue.snapshot.sqlite'), join(copy, 'catalogue.sqlite'));
  const child = await startChildStore(copy);
  await put(createClient(child.endpoint), ALL, ALL + 10);
  await child.kill();
  expect(await keysIn(copy)).toBe(KNOWN + 10);
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
    database.run('PRAGMA user_version = 3');
  }
  await expect(startStore(storeOptions(copy))).rejects.toThrow(
    `${catalogue} is of a newer version of Atrium, which is to be started again; nothing was changed`,
  );
  expect(version()).toBe(3);
  expect(await countFiles(copy)).toEqual({ staging: 0, blobs: ALL });
  await rm(copy, { recursive: true });
});

test('an operator may set aside whatever has no name; it is removed once its time has passed', async () => {
  const copy = await copyOf(original);
  await copyFile(join(copy, 'blobs', (await readdir(join(copy, 'blobs')))[0] ?? ''), join(copy, 'more'));
  for (let index = 0; index <= limits.unexplainedMax; index++)
    await copyFile(join(copy, 'more'), join(copy, 'blobs', `unknown-${index}`));
  expect(String(await startStore(storeOptions(copy)).catch((error: Error) => error.message))).toMatch(
    /33 of 533 files have no name in the catalogue.*bun run admin object-store set-aside$/,
  );
  expect(await setAsideUnnamed(copy, RETENTION_SECONDS)).toBe(limits.unexplainedMax + 1);
  expect(await keysIn(copy)).toBe(ALL);
  expect(await countIn(copy, 'aside')).toBe(limits.unexplainedMax + 1);
  const old = (Date.now() - RETENTION_SECONDS * 1000 - 1000) / 1000;
  utimesSync(join(copy, 'aside', 'unknown-0'), old, old);
  const store = await startStore(storeOptions(copy));
  await waitFor('the old one to go', async () => (await countIn(copy, 'aside')) === limits.unexplainedMax);
  await store.close();
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
  await waitFor('the first to be gone', async () => (await countFiles(copy)).blobs < ALL);
  await child.kill();
  await deleting;
  return { copy, left: (await countFiles(copy)).blobs };
}

test('a crash amid deletions leaves nothing that stops the start, however many', async () => {
  // The store may be done with all of them before it is seen that it has begun.
  const { copy, left } = await eventually('a crash that leaves many', async () => {
    const killed = await killedAmidDeletions();
    if (killed.left > limits.unexplainedMax) return killed;
    await rm(killed.copy, { recursive: true });
    return undefined;
  });
  expect(await keysIn(copy)).toBe(0);
  expect(await countIn(copy, 'aside')).toBe(left);
  await rm(copy, { recursive: true });
});

test('a snapshot is whole at any moment, and the catalogue stays locked while it is made', async () => {
  const own = await createDirectory();
  const child = await startChildStore(own);
  const client = createClient(child.endpoint);
  await callsBy(client).createBucket();
  await put(client, 0, 20);
  await waitFor('the snapshot', () => existsSync(join(own, 'catalogue.snapshot.sqlite')));
  expect((await stat(join(own, 'catalogue.snapshot.sqlite'))).mode & 0o777).toBe(0o600);
  const looked = new Database(join(own, 'catalogue.sqlite'));
  looked.run('PRAGMA busy_timeout = 100');
  expect(() => looked.query('SELECT count(*) FROM objects').get()).toThrow('locked');
  looked.close();
  await child.kill();
  await mkdir(join(own, 'apart'));
  await copyFile(join(own, 'catalogue.snapshot.sqlite'), join(own, 'apart', 'catalogue.sqlite'));
  const snapshot = new Database(join(own, 'apart', 'catalogue.sqlite'));
  expect(snapshot.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  snapshot.close();
  await rm(own, { recursive: true });
});
