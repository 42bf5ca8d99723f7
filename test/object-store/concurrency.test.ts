import { expect, test } from 'bun:test';
import { createConnection } from 'node:net';
import { GetObjectCommand, HeadObjectCommand } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { shared } from '../support/shared.ts';
import { BUCKET, countFiles, startTestStore, waitFor } from './fixture.ts';
import { post, supersetForm } from './form.ts';

const store = await shared(startTestStore());

test('readers of an object that is being overwritten see one whole content, with its own ETag', async () => {
  const sizeBytes = 700_000;
  const contents = [1, 2, 3].map((fill) => new Uint8Array(sizeBytes).fill(fill));
  await store.put('contended', contents[0] ?? '');
  let isWriting = true;
  const write = async () => {
    for (let round = 0; round < 20; round += 1) await store.put('contended', contents[round % 3] ?? '');
    isWriting = false;
  };
  const read = async () => {
    let reads = 0;
    const seen = new Map<string, number>();
    while (isWriting) {
      const got = await store.get('contended');
      const bytes = (await got.Body?.transformToByteArray()) ?? new Uint8Array();
      const fill = bytes[0] ?? 0;
      expect(bytes.length).toBe(sizeBytes);
      expect(bytes.every((byte) => byte === fill)).toBe(true);
      expect(seen.get(got.ETag ?? '') ?? fill).toBe(fill);
      seen.set(got.ETag ?? '', fill);
      reads += 1;
    }
    return reads;
  };
  const [, ...reads] = await Promise.all([write(), read(), read(), read()]);
  expect(Math.min(...reads)).toBeGreaterThan(0);
  expect(await countFiles(store.directory)).toBe(1);
});

test('a download that has begun ends with the content it began with', async () => {
  const sizeBytes = 40_000_000;
  await store.put('long', new Uint8Array(sizeBytes).fill(1));
  const url = new URL(
    await getSignedUrl(store.client, new GetObjectCommand({ Bucket: BUCKET, Key: 'long' })),
  );
  const socket = createConnection({ host: url.hostname, port: Number(url.port) });
  socket.write(`GET ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\nconnection: close\r\n\r\n`);
  const first = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
  socket.pause();
  await store.put('long', 'short');
  await store.remove('long');
  const body = [first.subarray(first.indexOf('\r\n\r\n') + 4)];
  socket.on('data', (data: Buffer) => body.push(data));
  socket.resume();
  await waitFor('all of it', () => body.reduce((sum, part) => sum + part.length, 0) >= sizeBytes);
  socket.destroy();
  expect(Buffer.concat(body).every((byte) => byte === 1)).toBe(true);
});

test('many uploads at once all arrive', async () => {
  const keys = Array.from({ length: 40 }, (_, index) => `many/${index}`);
  const answers = keys.map((key) => post(store, supersetForm(key), `${key} `.repeat(10_000)));
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(keys.map(() => 204));
  const texts = await Promise.all(keys.map((key) => store.text(key)));
  expect(texts).toEqual(keys.map((key) => `${key} `.repeat(10_000)));
});

test('copies, overwrites and deletions side by side lose no content that is still named', async () => {
  const before = await countFiles(store.directory);
  const name = (index: number) => `shared/${index % 5}`;
  await Promise.all([0, 1, 2, 3, 4].map((index) => store.put(name(index), `content ${index}`)));
  const work = Array.from({ length: 60 }, async (_, index) => {
    const target = name(index * 3);
    if (index % 7 === 0) await store.put(target, `content ${index}`);
    else if (index % 7 === 1) await store.remove(target);
    else if (name(index) !== target) {
      await store.copy(name(index), target).catch((error: Error) => expect(error.name).toBe('NoSuchKey'));
    }
  });
  await Promise.all(work);
  for (let index = 0; index < 5; index += 1) {
    const Key = name(index);
    const head = await store.client
      .send(new HeadObjectCommand({ Bucket: BUCKET, Key }))
      .catch(() => undefined);
    if (head !== undefined) expect(await store.text(Key)).toStartWith('content ');
    await store.remove(Key);
  }
  expect(await countFiles(store.directory)).toEqual(before);
});
