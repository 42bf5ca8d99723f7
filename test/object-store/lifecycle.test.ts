import { afterEach, expect, test } from 'bun:test';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  BUCKET,
  callsBy,
  connect,
  countFiles,
  createClient,
  createDirectory,
  startStore,
  startTestStore,
  storeOptions,
  waitFor,
} from './fixture.ts';
import { renderForm, supersetForm } from './form.ts';

const directories: string[] = [];
afterEach(async () => {
  for (const directory of directories.splice(0)) await rm(directory, { recursive: true, force: true });
});

async function freshDirectory(): Promise<string> {
  const directory = await createDirectory();
  directories.push(directory);
  return directory;
}

test('it makes its directory, for its owner alone', async () => {
  const directory = join(await freshDirectory(), 'a', 'b');
  const store = await startStore(storeOptions(directory));
  expect(store.endpoint).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  for (const folder of ['', 'blobs']) expect((await stat(join(directory, folder))).mode & 0o777).toBe(0o700);
  await store.close();
});

test('its bucket is there when it listens, from its first start on', async () => {
  const directory = await freshDirectory();
  for (const round of [1, 2]) {
    const store = await startStore(storeOptions(directory));
    const client = createClient(store.endpoint);
    const calls = callsBy(client);
    if (round === 2) expect(await calls.text('k')).toBe('round 1');
    await calls.put('k', `round ${round}`);
    client.destroy();
    await store.close();
  }
});

test('what it holds is there after a restart', async () => {
  const directory = await freshDirectory();
  for (const round of [1, 2, 3]) {
    const store = await startStore(storeOptions(directory));
    const client = createClient(store.endpoint);
    const calls = callsBy(client);
    await calls.createBucket();
    if (round > 1) expect(await calls.text('k')).toBe(`round ${round - 1}`);
    await calls.put('k', `round ${round}`);
    client.destroy();
    await store.close();
  }
});

test('a port that is taken, or a directory that is in use, is said', async () => {
  await using store = await startTestStore();
  const port = Number(new URL(store.endpoint).port);
  const elsewhere = { ...storeOptions(await freshDirectory()), port };
  expect(await startStore(elsewhere).catch(String)).toContain('did not start');
  const free = await startStore({ ...elsewhere, port: 0 });
  await free.close();
  expect(await startStore(storeOptions(store.directory)).catch(String)).toContain('in use');
});

test('closing refuses new connections, lets an upload finish, and may be asked twice', async () => {
  const directory = await freshDirectory();
  const store = await startStore(storeOptions(directory));
  await callsBy(createClient(store.endpoint)).createBucket();
  const url = new URL(store.endpoint);
  const { head, tail, type } = renderForm(supersetForm('late'));
  const length = head.length + 4 + tail.length;
  const { socket, answer } = connect(
    store,
    `POST /${BUCKET} HTTP/1.1\r\nhost: ${url.host}\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n\r\n${head}la`,
  );
  await waitFor('the upload', async () => (await countFiles(directory)) === 1);
  const closed = Promise.all([store.close(), store.close()]);
  await waitFor('the refusal', () =>
    fetch(store.endpoint).then(
      () => false,
      () => true,
    ),
  );
  socket.write(`te${tail}`);
  await closed;
  expect(answer()).toStartWith('HTTP/1.1 204');
  expect(await countFiles(directory)).toBe(1);
  socket.destroy();
});
