// The disk of the store fails, call by call: no answer says more than what is on it, none is a 500, and nothing needs a restart.

import { describe, expect, test } from 'bun:test';
import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  type S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { startObjectStore } from '../../src/embedded/object-store/index.ts';
import { eventually } from '../support/child.ts';
import { silentLog } from '../support/database.ts';
import { type FaultyDisk, missingFaultyDisk, mountFaultyDisk } from '../support/faulty-disk.ts';
import { BUCKET, createClient, storeOptions } from './fixture.ts';

const missing = missingFaultyDisk();

/** What an answer says; undefined for one of success. */
const codeOf = (answer: Promise<unknown>): Promise<string | undefined> =>
  answer.then(
    () => undefined,
    (error: unknown) => {
      if (!(error instanceof S3ServiceException)) throw error;
      return `${error.$metadata.httpStatusCode} ${error.name}`;
    },
  );
const put = (client: S3Client, key: string, content = `content of ${key}`): Promise<string | undefined> =>
  codeOf(client.send(new PutObjectCommand({ Bucket: BUCKET, Key: key, Body: content })));
const get = async (client: S3Client, key: string): Promise<string | undefined> => {
  const { Body } = await client.send(new GetObjectCommand({ Bucket: BUCKET, Key: key }));
  return Body?.transformToString();
};

async function startOn(directory: string) {
  const store = await startObjectStore(storeOptions(directory), silentLog);
  const client = createClient(store.endpoint);
  return {
    client,
    [Symbol.asyncDispose]: async () => {
      client.destroy();
      await store.close();
    },
  };
}

/** With a bucket and an object in it; the folder is there for good. */
async function startStored(disk: FaultyDisk) {
  mkdirSync(join(disk.path, 'store'), { mode: 0o700 });
  const descriptor = openSync(disk.path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
  const store = await startOn(join(disk.path, 'store'));
  expect(await put(store.client, 'kept')).toBeUndefined();
  return store;
}

describe.skipIf(missing !== undefined)(
  missing === undefined ? 'a failing disk' : `a failing disk (${missing})`,
  () => {
    test.each(['catalogue.sqlite-wal', 'blobs', 'blobs/*'])(
      'a flush of %s that fails refuses its upload, and loses none that is taken later',
      async (name) => {
        await using disk = await mountFaultyDisk();
        await using store = await startStored(disk);
        await disk.fail({ calls: ['fsync'], path: `store/${name}`, error: 'EIO', count: 1 });
        expect(await put(store.client, 'refused')).toBe('503 ServiceUnavailable');
        const keys = Array.from({ length: 10 }, (_, index) => `later ${index}`);
        expect(await Promise.all(keys.map((key) => put(store.client, key)))).toEqual(
          keys.map(() => undefined),
        );

        await using found = await startOn(join(await disk.survivor(), 'store'));
        for (const key of ['kept', ...keys]) expect(await get(found.client, key)).toBe(`content of ${key}`);
      },
    );

    test.each([
      ['ENOSPC', '507 StorageFull'],
      ['EROFS', '503 ServiceUnavailable'],
      ['EIO', '503 ServiceUnavailable'],
    ])(
      'one that answers %s to every write refuses uploads, gives what it has, and is used again',
      async (error, refusal) => {
        await using disk = await mountFaultyDisk();
        await using store = await startStored(disk);
        await disk.fail({
          calls: ['create', 'open-for-writing', 'write', 'rename', 'fsync'],
          path: 'store/**',
          error,
        });
        for (let round = 0; round < 3; round++)
          expect(await put(store.client, `refused ${round}`)).toBe(refusal);
        expect(await get(store.client, 'kept')).toBe('content of kept');
        await disk.clear();
        expect(await put(store.client, 'later')).toBeUndefined();
        await using found = await startOn(join(await disk.survivor(), 'store'));
        for (const key of ['kept', 'later']) expect(await get(found.client, key)).toBe(`content of ${key}`);
      },
    );

    test('one that hangs answers every change with 503 in time, gives what it has, and is used again', async () => {
      await using disk = await mountFaultyDisk();
      await using store = await startStored(disk);
      const { client } = store;
      await disk.hang({
        calls: ['create', 'open-for-writing', 'write', 'rename', 'unlink', 'setattr', 'fsync'],
        path: 'store/**',
      });
      const Bucket = BUCKET;
      const changes = [
        // More at once than there are threads for calls of the disk.
        ...Array.from({ length: 80 }, (_, index) => put(client, `refused ${index}`)),
        put(client, 'large', 'x'.repeat(20_000_000)),
        codeOf(client.send(new DeleteObjectCommand({ Bucket, Key: 'kept' }))),
        codeOf(
          client.send(
            new CopyObjectCommand({
              Bucket,
              Key: 'copy',
              CopySource: `${BUCKET}/kept`,
              MetadataDirective: 'REPLACE',
              ContentType: 'text/plain',
            }),
          ),
        ),
      ];
      expect(await get(client, 'kept')).toBe('content of kept');
      expect(new Set(await Promise.all(changes))).toEqual(new Set(['503 ServiceUnavailable']));
      // It is known now.
      const refused = client.send(new PutObjectCommand({ Bucket, Key: 'refused', Body: '' }));
      const error: S3ServiceException = await refused.then(
        () => expect.unreachable(),
        (reason) => reason,
      );
      expect([error.name, error.$response?.headers['retry-after']]).toEqual(['ServiceUnavailable', '2']);
      expect(await get(client, 'kept')).toBe('content of kept');

      await disk.clear();
      await eventually('it to be over', async () => (await put(client, 'later')) === undefined);
      await using found = await startOn(join(await disk.survivor(), 'store'));
      expect(await get(found.client, 'later')).toBe('content of later');
    });

    test('one that is full for the catalogue alone refuses uploads as full', async () => {
      await using disk = await mountFaultyDisk();
      await using store = await startStored(disk);
      await disk.fail({ calls: ['write'], path: 'store/catalogue.*', error: 'ENOSPC' });
      for (let round = 0; round < 3; round++)
        expect(await put(store.client, `refused ${round}`)).toBe('507 StorageFull');
      await disk.clear();
      expect(await put(store.client, 'later')).toBeUndefined();
      await using found = await startOn(join(await disk.survivor(), 'store'));
      for (const key of ['kept', 'later']) expect(await get(found.client, key)).toBe(`content of ${key}`);
    });
  },
);
