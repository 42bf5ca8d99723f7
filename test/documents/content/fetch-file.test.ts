// What a reader fetches of a store that says no length, hangs, refuses, or sends more than it says.

import { afterAll, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { fetchFile, StoreUnavailable } from '../../../src/documents/content/fetch-file.ts';
import { Unreadable } from '../../../src/documents/content/unreadable.ts';

let sent = 0;
const endless = (pause: () => Promise<unknown>) =>
  new Response(
    new ReadableStream({
      async pull(controller) {
        await pause();
        sent += 65_536;
        controller.enqueue(new Uint8Array(65_536));
      },
    }),
  );
const answers: Record<string, () => Response | Promise<Response>> = {
  '/refused': () => new Response('<Error/>', { status: 403 }),
  '/endless': () => endless(() => Bun.sleep(0)),
  '/silent': () => new Promise<Response>(() => undefined),
  '/stalls': () => endless(() => (sent === 0 ? Promise.resolve() : new Promise(() => undefined))),
  '/packed': () =>
    new Response(gzipSync(new Uint8Array(50_000_000)), { headers: { 'content-encoding': 'gzip' } }),
};
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: (request) => answers[new URL(request.url).pathname]?.() ?? new Response('whole'),
});
afterAll(() => server.stop(true));

const ask = async (path: string, stallMsMax = 60_000): Promise<string> => {
  sent = 0;
  const url = new URL(path, server.url).href;
  const parts = await Array.fromAsync(fetchFile(url, 1_000_000, { stallMsMax }));
  return Buffer.concat(parts).toString();
};
const failureOf = (path: string, stallMsMax?: number): Promise<Error> =>
  ask(path, stallMsMax).then(
    () => expect.unreachable(),
    (error) => error,
  );

test('a file without a stated length is fetched up to the ceiling, and no further', async () => {
  const error = await failureOf('/endless');
  expect(error).toBeInstanceOf(Unreadable);
  expect(error.message).toContain('larger than 1000000 bytes');
  expect(sent).toBeLessThan(20_000_000);
  expect((await failureOf('/packed')).message).toContain('larger than 1000000 bytes');
});

test('a store that sends nothing for a while, at once or amid a file, is waited for no longer', async () => {
  for (const path of ['/silent', '/stalls']) {
    const error = await failureOf(path, 300);
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(error.message).toBe('the object store does not send the file in time');
  }
});

test('a refusal of the store is named by its status', async () => {
  const error = await failureOf('/refused');
  expect(error).toBeInstanceOf(StoreUnavailable);
  expect(error.message).toBe('the object store answers 403');
});

test('a file is fetched whole', async () => {
  expect(await ask('/file')).toBe('whole');
});

test('a reader that takes its time with a part is no store that stalls', async () => {
  const parts: string[] = [];
  for await (const part of fetchFile(server.url.href, 1_000_000, { stallMsMax: 50 })) {
    await Bun.sleep(150);
    parts.push(Buffer.from(part).toString());
  }
  expect(parts.join('')).toBe('whole');
});
