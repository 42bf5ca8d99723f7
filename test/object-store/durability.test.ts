import { afterAll, beforeAll, expect, test } from 'bun:test';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NoSuchKey } from '@aws-sdk/client-s3';
import { startChildStore } from './child-store.ts';
import {
  callsBy,
  countFiles,
  createClient,
  createDirectory,
  startStore,
  storeOptions,
  type TestStore,
} from './fixture.ts';
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

async function readVersion(client: Pick<TestStore, 'text'>, key: string): Promise<number> {
  try {
    const text = await client.text(key);
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
    const connection = createClient(child.endpoint);
    const client = callsBy(connection);
    await client.createBucket();
    for (const [key, version] of begun) {
      const kept = await readVersion(client, key);
      expect(kept).toBeGreaterThanOrEqual(answered.get(key) ?? -1);
      expect(kept).toBeLessThanOrEqual(version);
      begun.set(key, kept);
      answered.set(key, kept);
    }
    const named = [...answered.values()].filter((version) => version >= 0).length;
    expect(await countFiles(directory)).toBe(named);

    let count = 0;
    const uploads = Array.from({ length: KEYS }, async (_, index) => {
      const key = `key-${index}`;
      for (let version = (begun.get(key) ?? -1) + 1; !child.isKilled(); version += 1) {
        begun.set(key, version);
        const content = contentOf(key, version);
        const isForm = index % 2 === 0;
        const work = isForm
          ? post(child, supersetForm(key), content).then(({ status }) => expect(status).toBe(204))
          : client.put(key, content);
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
    connection.destroy();
  }
});

test('files that nothing explains stay as they are', async () => {
  const own = await createDirectory();
  const first = await startStore(storeOptions(own));
  await callsBy(createClient(first.endpoint)).put('kept', 'kept');
  await first.close();
  await writeFile(join(own, 'blobs', 'unknown'), 'perhaps of a newer catalogue');
  const second = await startStore(storeOptions(own));
  expect(await countFiles(own)).toBe(2);
  expect(await callsBy(createClient(second.endpoint)).text('kept')).toBe('kept');
  await second.close();
  await rm(own, { recursive: true, force: true });
});

test('without its catalogue it does not start, rather than take all contents for leftovers', async () => {
  const own = await createDirectory();
  const store = await startStore(storeOptions(own));
  const client = callsBy(createClient(store.endpoint));
  await client.createBucket();
  await client.put('k', 'x');
  await store.close();
  await rm(join(own, 'catalogue.sqlite'));
  expect(await startStore(storeOptions(own)).catch(String)).toContain('catalogue.sqlite is missing');
  expect(await countFiles(own)).toBe(1);
  await rm(own, { recursive: true, force: true });
});
