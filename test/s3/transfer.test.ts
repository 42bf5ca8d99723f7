// The bytes of objects over connections that hang: each wait for the store has an end, the time of a slow reader does not count.

import { expect, test } from 'bun:test';
import { createTransfer } from '../../src/infra/s3/transfer.ts';

const HEADERS = 'HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n';

/** A store that answers every request with the pieces, and says no more then. Attempts count, also those that it was too busy to see. */
function silentStore(pieces: readonly string[]) {
  let attempts = 0;
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket) {
        for (const piece of pieces) socket.write(piece);
      },
    },
  });
  const url = async (): Promise<string> => {
    attempts += 1;
    return `http://127.0.0.1:${server.port}/object`;
  };
  const objects = { readUrl: url, writeUrl: url, async *list() {} };
  return {
    get: (read: (body: ReadableStream<Uint8Array>) => Promise<string>, silenceMs: number) =>
      createTransfer(objects, { silenceMs, retryMs: 1 }).get('object', ({ body }) => read(body)),
    attempts: () => attempts,
    [Symbol.dispose]: () => server.stop(true),
  };
}

const toText = (body: ReadableStream<Uint8Array>): Promise<string> => new Response(body).text();

test.each([
  ['does not answer', []],
  ['answers, and sends a part of the object', [HEADERS, 'abc']],
])('a store that %s is asked again, and given up', async (_, pieces) => {
  using store = silentStore(pieces);
  const got = store.get(toText, 50).catch((error: Error) => error);
  const error = (await got) as Error;
  expect(error).toMatchObject({
    kind: 'unavailable',
    cause: expect.objectContaining({ message: 'the store is silent' }),
  });
  expect(store.attempts()).toBe(4);
});

test('a reader may take its time', async () => {
  using store = silentStore([HEADERS, 'abcdef']);
  const slowly = async (body: ReadableStream<Uint8Array>): Promise<string> => {
    await Bun.sleep(2400);
    return await toText(body);
  };
  expect(await store.get(slowly, 2000)).toBe('abcdef');
  expect(store.attempts()).toBe(1);
});
