// Objects that a process beside the store reads from its files.

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { readdirSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { openFileReader } from '../../src/embedded/object-store/index.ts';
import { type ObjectReader, wholeOf } from '../../src/infra/s3/transfer.ts';
import { freshFolder } from '../support/folders.ts';
import { BUCKET, callsBy, createClient, startStore, storeOptions, waitFor } from './fixture.ts';

const CONTENTS: Readonly<Record<string, Uint8Array>> = {
  empty: new Uint8Array(),
  'a b/ü\\n+%/..': randomBytes(10_000),
  'of some parts': randomBytes(3_000_000),
};
const TYPE = 'text/plain; charset=utf-8';

/** Runs a store on the folder; the objects of `put` are there when its `use` is called. */
async function withStore(
  directory: string,
  put: Readonly<Record<string, Uint8Array>>,
  use: () => Promise<void>,
): Promise<void> {
  const store = await startStore(storeOptions(directory));
  const client = createClient(store.endpoint);
  try {
    for (const [key, content] of Object.entries(put))
      await callsBy(client).put(key, content, { ContentType: TYPE });
    await use();
  } finally {
    client.destroy();
    await store.close();
  }
}

/** A folder with a snapshot that has the contents, and then the newer object; the store goes on while it is used. */
async function withSnapshot(use: (directory: string) => Promise<void>): Promise<void> {
  const directory = join(freshFolder(), 'a store?');
  await withStore(directory, CONTENTS, async () => undefined);
  // The first snapshot of a start is made at once.
  rmSync(join(directory, 'catalogue.snapshot.sqlite'), { force: true });
  await withStore(directory, {}, async () => {
    await waitFor('a snapshot', () => readdirSync(directory).includes('catalogue.snapshot.sqlite'));
    await use(directory);
  });
}

/** A reader of the folder, and the keys that it has left to the store. */
function readerOf(directory: string, bucket = BUCKET) {
  const left: string[] = [];
  const others: ObjectReader = {
    async get(key) {
      left.push(key);
      return undefined;
    },
  };
  const reader = openFileReader(directory, bucket, others);
  const read = async (key: string) =>
    await reader.get(key, async ({ size, type, body }) => ({
      size,
      type,
      content: Buffer.from(await wholeOf(body)),
    }));
  return { read, left, [Symbol.dispose]: () => reader.close() };
}

test('objects of the snapshot are read from their files while the store has them open', async () => {
  await withSnapshot(async (directory) => {
    const before = readdirSync(directory);
    using reader = readerOf(directory);
    for (const [key, content] of Object.entries(CONTENTS))
      expect(await reader.read(key)).toEqual({
        size: content.length,
        type: TYPE,
        content: Buffer.from(content),
      });
    expect(reader.left).toEqual([]);
    expect(readdirSync(directory)).toEqual(before);
  });
});

test('what the snapshot or the files do not tell is left to the store', async () => {
  await withSnapshot(async (directory) => {
    const files = Object.fromEntries(filesOf(directory));
    using reader = readerOf(directory);
    rmSync(files['of some parts'] ?? '');
    truncateSync(files['a b/ü\\n+%/..'] ?? '', 9999);
    for (const key of ['of some parts', 'a b/ü\\n+%/..', 'younger'])
      expect(await reader.read(key)).toBeUndefined();
    expect(reader.left).toEqual(['of some parts', 'a b/ü\\n+%/..', 'younger']);
    using other = readerOf(directory, 'other-bucket');
    await other.read('empty');
    expect(other.left).toEqual(['empty']);
  });
  using none = readerOf(freshFolder());
  await none.read('empty');
  expect(none.left).toEqual(['empty']);
});

function filesOf(directory: string): [string, string][] {
  const catalogue = new Database(join(directory, 'catalogue.snapshot.sqlite'), { readonly: true });
  const rows = catalogue.query<{ key: Uint8Array; blob: string }, []>('SELECT key, blob FROM objects').all();
  catalogue.close();
  return rows.map(({ key, blob }) => [Buffer.from(key).toString(), join(directory, 'blobs', blob)]);
}
