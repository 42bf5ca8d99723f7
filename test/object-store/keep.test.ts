// Objects that a restore gives to the store together.

import { expect, test } from 'bun:test';
import { createHash, randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { callsBy, countFiles, createClient, createDirectory, startStore, storeOptions } from './fixture.ts';

const TYPE = 'text/plain; charset=utf-8';
const objectsOf = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    key: `a b/ü ${n}`,
    contentType: TYPE,
    body: new Uint8Array(randomBytes(n * 10)),
  }));

async function withStore(
  directory: string,
  use: (parts: Awaited<ReturnType<typeof startStore>> & ReturnType<typeof callsBy>) => Promise<void>,
): Promise<void> {
  const store = await startStore(storeOptions(directory));
  const client = createClient(store.endpoint);
  try {
    await use({ ...callsBy(client), ...store });
  } finally {
    client.destroy();
    await store.close();
  }
}

test('objects that are kept together are as those that were put, also after a restart', async () => {
  const directory = await createDirectory();
  const objects = objectsOf(100);
  try {
    await withStore(directory, async ({ keep }) => await keep(objects));
    await withStore(directory, async ({ get }) => {
      for (const { key, body } of objects) {
        const found = await get(key);
        expect(await found.Body?.transformToByteArray()).toEqual(body);
        expect(found.ContentType).toBe(TYPE);
        expect(found.ETag).toBe(`"${createHash('md5').update(body).digest('hex')}"`);
      }
      expect(await countFiles(directory)).toEqual({ staging: 0, blobs: 100 });
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

test('an object that is replaced leaves no file, and those that are refused leave nothing', async () => {
  const directory = await createDirectory();
  const [one, other] = objectsOf(2);
  if (one === undefined || other === undefined) throw new Error('two objects');
  try {
    await withStore(directory, async ({ keep, put, text }) => {
      await put(one.key, 'before');
      await keep([{ ...one, body: Buffer.from('after') }, other]);
      expect(await text(one.key)).toBe('after');
      expect(await countFiles(directory)).toEqual({ staging: 0, blobs: 2 });
      const refused = keep([
        { ...other, key: 'new' },
        { ...other, key: '' },
      ]);
      await expect(refused).rejects.toThrow('User key must have a length greater than 0');
      await expect(text('new')).rejects.toThrow();
      expect(await countFiles(directory)).toEqual({ staging: 0, blobs: 2 });
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
