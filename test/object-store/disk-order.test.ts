// Nothing is answered before it is on the disk: written, flushed, named, flushed again. The calls of file handles are
// watched, and held up where an answer must wait for them; what they do is the real thing, but
// for a flush that a test lets fail.

import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Blob, type Blobs, openBlobs } from '../../src/embedded/object-store/blobs.ts';
import { openCatalogue } from '../../src/embedded/object-store/catalogue.ts';
import { createDiskCalls } from '../../src/embedded/object-store/disk-calls.ts';
import { limits } from '../../src/embedded/object-store/limits.ts';
import { createObjects, type Objects } from '../../src/embedded/object-store/objects.ts';
import { eventually } from '../support/child.ts';
import { createDirectory } from './fixture.ts';

type Handles = Pick<FileHandle, 'write' | 'sync' | 'datasync'>;
const WATCHED = ['write', 'sync', 'datasync'] as const;

const calls: string[] = [];
let directory: string;
let watched: Handles;
let original: Handles;
/** What a flush waits for before it begins. */
let gate: Promise<void> = Promise.resolve();
/** And one of the folder, beside that. */
let folderGate: Promise<void> = Promise.resolve();
/** Flushes of the folder that fail from now on, in the place of the disk. */
let folderFailures = 0;

beforeAll(async () => {
  const handle = await open(import.meta.path, 'r');
  watched = Object.getPrototypeOf(handle);
  await handle.close();
  original = { write: watched.write, sync: watched.sync, datasync: watched.datasync };
  for (const name of WATCHED) {
    Object.assign(watched, {
      async [name](this: FileHandle, ...given: never[]): Promise<unknown> {
        const what = (await this.stat()).isDirectory() ? 'folder' : 'file';
        calls.push(`${name} ${what}, ${readdirSync(join(directory, 'blobs')).length} kept`);
        if (name !== 'write') await gate;
        if (what === 'folder') await folderGate;
        if (what === 'folder' && folderFailures-- > 0) throw new Error('EIO');
        return (original[name] as (...given: unknown[]) => unknown).apply(this, given);
      },
    });
  }
});
afterAll(() => void Object.assign(watched, original));
beforeEach(async () => {
  directory = await createDirectory();
  calls.length = 0;
  folderFailures = 0;
});

const disk = createDiskCalls({ msMax: limits.diskCallMsMax, runningMax: 16 });

const unannounced = (blobs: Blobs) => ({
  receive: (options: Receive) => blobs.receive(options, () => undefined),
});

/** Without what is done beside the requests. */
async function openObjects(): Promise<Objects> {
  const catalogue = await openCatalogue(join(directory, 'catalogue.sqlite'), disk);
  catalogue.begin();
  return createObjects({ catalogue, blobs: await openBlobs(directory, disk), disk });
}

type Receive = Parameters<Objects['receive']>[0];
const receive = (blobs: { receive(options: Receive): Promise<Blob> }, ...buffers: Buffer[]) =>
  blobs.receive({
    sizeBytesMax: Number.POSITIVE_INFINITY,
    digests: ['md5'],
    check: () => undefined,
    async fill(sink) {
      for (const buffer of buffers)
        await new Promise<void>((resolve) => void sink.write(buffer, () => resolve()));
      await new Promise<void>((resolve, reject) => {
        sink.on('error', reject);
        sink.end(resolve);
      });
    },
  });

test('a body is written, flushed, moved to the whole ones, and their folder is flushed', async () => {
  const blobs = await openBlobs(directory, disk);
  calls.length = 0;
  await receive(unannounced(blobs), Buffer.from('content'));
  expect(calls).toEqual(['write file, 0 kept', 'sync file, 0 kept', 'sync folder, 1 kept']);
  await blobs.close();
  await rm(directory, { recursive: true, force: true });
});

test('a large body is flushed on the way, too, and at its end', async () => {
  const blobs = await openBlobs(directory, disk);
  calls.length = 0;
  const part = Buffer.alloc(limits.unsyncedBytesMax / 4);
  await receive(unannounced(blobs), ...Array.from({ length: 6 }, () => part));
  expect(calls.filter((call) => !call.startsWith('write'))).toEqual([
    'datasync file, 0 kept',
    'sync file, 0 kept',
    'sync folder, 1 kept',
  ]);
  expect(calls.at(-2)).toBe('sync file, 0 kept');
  await blobs.close();
  await rm(directory, { recursive: true, force: true });
});

// The file system of the other tests does not let a file move into a folder whose flush is under way; others do.
test('a flush of the folder that fails refuses what was moved into it meanwhile, too, and nothing that comes later', async () => {
  const blobs = await openBlobs(directory, disk);
  const held = Promise.withResolvers<void>();
  const take = () =>
    receive(unannounced(blobs), Buffer.from('content')).then(
      () => 'taken',
      (error: Error) => error.message,
    );
  // Files are flushed as they come, the folder not before it is let.
  const folderIs = (files: number) =>
    eventually(
      'the files to be in their place',
      () => readdirSync(join(directory, 'blobs')).length === files,
    );
  folderGate = held.promise;
  folderFailures = 1;
  const first = take();
  await folderIs(1);
  const second = take();
  await folderIs(2);
  held.resolve();
  expect(await Promise.all([first, second])).toEqual(['EIO', 'EIO']);
  expect(readdirSync(join(directory, 'blobs'))).toEqual([]);
  expect(await take()).toBe('taken');
  await blobs.close();
  await rm(directory, { recursive: true, force: true });
});

test('objects that come together are named after the flush of their folder, and where it fails none is there', async () => {
  const objects = await openObjects();
  await objects.createBucket('b-1');
  const given = Array.from({ length: 50 }, (_, n) => ({
    key: `${n}`,
    contentType: 'text/plain',
    body: Buffer.from(`${n}`),
  }));
  folderFailures = 1;
  await expect(objects.keep('b-1', given)).rejects.toThrow('EIO');
  expect(() => objects.get({ bucket: 'b-1', key: '0' })).toThrow();
  for (const folder of ['blobs', 'staging']) expect(readdirSync(join(directory, folder))).toEqual([]);
  calls.length = 0;
  expect(await waitsForDisk(() => objects.keep('b-1', given))).toBe(true);
  // The reason for files without a name, the folder, the names.
  expect(calls.filter((call) => !call.startsWith('write'))).toEqual([
    'datasync file, 0 kept',
    'sync folder, 50 kept',
    'datasync file, 50 kept',
  ]);
  expect(objects.get({ bucket: 'b-1', key: '49' }).sizeBytes).toBe(2);
  await objects.close();
  await rm(directory, { recursive: true, force: true });
});

/** Whether the work is answered only once flushes go on; afterwards it must have ended well. */
async function waitsForDisk(work: () => Promise<unknown>): Promise<boolean> {
  const held = Promise.withResolvers<void>();
  gate = held.promise;
  const before = calls.length;
  let isAnswered = false;
  const answered = work().then(() => {
    isAnswered = true;
  });
  while (calls.length === before && !isAnswered) await Bun.sleep(1);
  // An answer that does not wait comes within a few turns of the event loop.
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  const waited = !isAnswered;
  held.resolve();
  gate = Promise.resolve();
  await answered;
  return waited;
}

test('a new bucket, an object, its replacement, its copy and its removal are answered once they are on the disk', async () => {
  const objects = await openObjects();
  const name = { bucket: 'b', key: 'k' };
  const type = 'text/plain';
  expect(await waitsForDisk(() => objects.createBucket('b'))).toBe(true);
  for (const content of ['one', 'two']) {
    const blob = await receive(objects, Buffer.from(content));
    expect(await waitsForDisk(() => objects.put(name, blob, type))).toBe(true);
  }
  const copied = { bucket: 'b', key: 'copy' };
  const copying = { contentType: type, assertMeant: () => undefined };
  expect(await waitsForDisk(() => objects.copy(name, copied, copying))).toBe(true);
  for (const { key } of [name, copied])
    expect(await waitsForDisk(() => objects.remove('b', [{ key }]))).toBe(true);
  expect(readdirSync(join(directory, 'blobs'))).toEqual([]);
  await objects.close();
  await rm(directory, { recursive: true, force: true });
});

test('the bytes of a removed object go only when its removal is on the disk', async () => {
  const objects = await openObjects();
  await objects.createBucket('b');
  const blob = await receive(objects, Buffer.from('content'));
  await objects.put({ bucket: 'b', key: 'k' }, blob, 'text/plain');
  const path = join(directory, 'blobs', blob.id);
  let kept = false;
  await waitsForDisk(async () => {
    const removed = objects.remove('b', [{ key: 'k' }]);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    kept = existsSync(path);
    await removed;
  });
  expect([kept, existsSync(path)]).toEqual([true, false]);
  await objects.close();
  await rm(directory, { recursive: true, force: true });
});

test('a change that is made while a flush runs waits for the next one, which all who come meanwhile share', async () => {
  const objects = await openObjects();
  const held = Promise.withResolvers<void>();
  calls.length = 0;
  gate = held.promise;
  const answered: string[] = [];
  const create = (name: string) => objects.createBucket(name).then(() => answered.push(name));
  const first = create('first');
  while (calls.length === 0) await Bun.sleep(1);
  const others = ['second', 'third'].map(create);
  const isMade = (bucket: string): boolean => {
    try {
      objects.assertBucket(bucket);
      return true;
    } catch {
      return false;
    }
  };
  while (!['second', 'third'].every(isMade)) await Bun.sleep(1);
  held.resolve();
  const next = Promise.withResolvers<void>();
  gate = next.promise;
  await first;
  while (calls.length === 1 && answered.length === 1) await Bun.sleep(1);
  expect([answered, calls.length]).toEqual([['first'], 2]);
  next.resolve();
  gate = Promise.resolve();
  await Promise.all(others);
  expect([answered.toSorted(), calls.length]).toEqual([['first', 'second', 'third'], 2]);
  await objects.close();
  await rm(directory, { recursive: true, force: true });
});
