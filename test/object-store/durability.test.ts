import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  CreateBucketCommand,
  GetObjectCommand,
  NoSuchKey,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { startChildStore } from './child-store.ts';
import { BUCKET, countFiles, createClient, createDirectory, startStore, storeOptions } from './fixture.ts';
import { post, supersetForm } from './form.ts';

const KEYS = 6;
const SIZE_BYTES = 400_000;
const ROUNDS = 4;

let directory: string;
beforeAll(async () => {
  directory = await createDirectory();
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** The content of the n-th version of a key says which it is, throughout. */
function contentOf(key: string, version: number): string {
  const unit = `${key} version ${String(version).padStart(6, '0')}\n`;
  return unit.repeat(Math.ceil(SIZE_BYTES / unit.length));
}

async function readVersion(client: S3Client, key: string): Promise<number> {
  try {
    const { Body } = await client.send(new GetObjectCommand({ Bucket: BUCKET, Key: key }));
    const text = (await Body?.transformToString()) ?? '';
    const version = Number(/version (\d+)/.exec(text)?.[1]);
    expect(text === contentOf(key, version)).toBe(true);
    return version;
  } catch (error) {
    if (error instanceof NoSuchKey) return -1;
    throw error;
  }
}

test('killed in the middle of uploads, it keeps every one it answered, no half one, and no rest of one', async () => {
  const answered = new Map<string, number>();
  const begun = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round += 1) {
    await using child = await startChildStore(directory);
    const client = createClient(child.endpoint);
    await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
    for (const [key, version] of begun) {
      const kept = await readVersion(client, key);
      expect(kept).toBeGreaterThanOrEqual(answered.get(key) ?? -1);
      expect(kept).toBeLessThanOrEqual(version);
      begun.set(key, kept);
      answered.set(key, kept);
    }
    const named = [...answered.values()].filter((version) => version >= 0).length;
    expect(await countFiles(directory)).toEqual({ staging: 0, blobs: named });

    let count = 0;
    const uploads = Array.from({ length: KEYS }, async (_, index) => {
      const key = `key-${index}`;
      for (let version = (begun.get(key) ?? -1) + 1; !child.isKilled(); version += 1) {
        begun.set(key, version);
        const content = contentOf(key, version);
        const isForm = index % 2 === 0;
        const work = isForm
          ? post(child, supersetForm(key), content).then(({ status }) => expect(status).toBe(204))
          : client.send(new PutObjectCommand({ Bucket: BUCKET, Key: key, Body: content }));
        const isAnswered = await work.then(
          () => true,
          () => false,
        );
        if (!isAnswered) {
          expect(child.isKilled()).toBe(true);
          return;
        }
        answered.set(key, version);
        count += 1;
        if (count < KEYS * 2 + round) continue;
        await child.kill();
      }
    });
    await Promise.all(uploads);
    expect(count).toBeGreaterThan(KEYS);
    client.destroy();
  }
}, 60_000);

test('at its start it removes half uploads, and sets aside what no object names', async () => {
  const own = await createDirectory();
  const first = await startStore(storeOptions(own));
  const client = createClient(first.endpoint);
  await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
  await client.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'kept', Body: 'kept' }));
  await first.close();
  await mkdir(join(own, 'staging'), { recursive: true });
  await writeFile(join(own, 'staging', 'half'), 'half an upload');
  await writeFile(join(own, 'blobs', 'orphan'), 'whole, but never named');
  const second = await startStore(storeOptions(own));
  expect(await countFiles(own)).toEqual({ staging: 0, blobs: 1 });
  expect(await readdir(join(own, 'aside'))).toEqual(['orphan']);
  const again = createClient(second.endpoint);
  const { Body } = await again.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'kept' }));
  expect(await Body?.transformToString()).toBe('kept');
  await second.close();
  await rm(own, { recursive: true, force: true });
});

test('without its catalogue it does not start, rather than take all contents for leftovers', async () => {
  const own = await createDirectory();
  const store = await startStore(storeOptions(own));
  const client = createClient(store.endpoint);
  await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
  await client.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'k', Body: 'x' }));
  await store.close();
  await rm(join(own, 'catalogue.sqlite'));
  expect(await startStore(storeOptions(own)).catch(String)).toContain('catalogue.sqlite is missing');
  expect((await countFiles(own)).blobs).toBe(1);
  await rm(own, { recursive: true, force: true });
});
