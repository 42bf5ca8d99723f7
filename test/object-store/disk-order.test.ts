// A body is on the disk before it becomes an object: the calls of file handles are watched.

import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { mkdirSync, readdirSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { createDigests } from '../../src/embedded/object-store/digests.ts';
import { createDisk } from '../../src/embedded/object-store/disk.ts';
import { limits } from '../../src/embedded/object-store/limits.ts';
import { Upload } from '../../src/embedded/object-store/upload.ts';
import { createDirectory } from './fixture.ts';

const WATCHED = ['write', 'sync', 'datasync'] as const;
type Handles = Pick<FileHandle, (typeof WATCHED)[number]>;

const calls: string[] = [];
let directory: string;
let watched: Handles;
let original: Handles;
/** A flush of the folder fails. */
let folderFails = false;

beforeAll(async () => {
  const handle = await open(import.meta.path, 'r');
  watched = Object.getPrototypeOf(handle);
  await handle.close();
  original = { write: watched.write, sync: watched.sync, datasync: watched.datasync };
  for (const name of WATCHED) {
    Object.assign(watched, {
      async [name](this: FileHandle, ...given: never[]): Promise<unknown> {
        const what = (await this.stat()).isDirectory() ? 'folder' : 'file';
        calls.push(`${name} ${what}`);
        if (what === 'folder' && folderFails) throw new Error('EIO');
        return (original[name] as (...given: unknown[]) => unknown).apply(this, given);
      },
    });
  }
});
afterAll(() => void Object.assign(watched, original));
beforeEach(async () => {
  directory = await createDirectory();
  mkdirSync(directory, { recursive: true });
  calls.length = 0;
  folderFails = false;
});

async function receive(...buffers: Buffer[]): Promise<void> {
  await using upload = await Upload.begin(directory, 'file', {
    disk: createDisk({ msMax: limits.diskCallMsMax, runningMax: 16 }),
    digests: createDigests(),
    sizeBytesMax: Number.POSITIVE_INFINITY,
    onRemoved: () => void calls.push('removed'),
  });
  for (const buffer of buffers) await upload.write(buffer);
  await upload.finish();
  upload.isKept = true;
}

test('a body is written and flushed, and its folder is flushed', async () => {
  await receive(Buffer.from('content'));
  expect(calls).toEqual(['write file', 'sync file', 'sync folder']);
  await rm(directory, { recursive: true, force: true });
});

test('a large body is flushed on the way, too, and at its end', async () => {
  const part = Buffer.alloc(limits.unsyncedBytesMax / 4);
  await receive(...Array.from({ length: 6 }, () => part));
  expect(calls.filter((call) => call !== 'write file')).toEqual([
    'datasync file',
    'sync file',
    'sync folder',
  ]);
  await rm(directory, { recursive: true, force: true });
});

test('a body whose folder cannot be flushed is refused, and leaves nothing', async () => {
  folderFails = true;
  await expect(receive(Buffer.from('content'))).rejects.toThrow('EIO');
  expect(readdirSync(directory)).toEqual([]);
  expect(calls.at(-1)).toBe('removed');
  await rm(directory, { recursive: true, force: true });
});
