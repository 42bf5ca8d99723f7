// The bytes of objects, for copies of all of them: read and written as streams, by signed URLs.

import { diskFaultOf } from '../../core/disk-fault.ts';
import { unavailable } from '../../core/errors.ts';
import { within } from '../../core/wait.ts';
import type { ObjectStore } from './client.ts';

/** An object and its bytes. */
export type StreamedObject = { size: number; type: string; body: ReadableStream<Uint8Array> };

export type Transfer = ReturnType<typeof createTransfer>;

/** A slower upload is given up. */
const BYTES_PER_SECOND_MIN = 100_000;
/** For an answer to begin, and for the next bytes of one. */
const CALL_TIMEOUT_MS = 30_000;
const URL_SECONDS = 86_400;
const ATTEMPTS_MAX = 4;
const RETRY_MS = 500;

/** Calls that fail because the store is away, refuses or breaks off are repeated a few times, and throw `unavailable` then. */
export function createTransfer(
  objects: Pick<ObjectStore, 'readUrl' | 'writeUrl' | 'list'>,
  { silenceMs = CALL_TIMEOUT_MS, retryMs = RETRY_MS } = {},
) {
  async function repeat<Value>(run: () => Promise<Value>): Promise<Value> {
    for (let attempts = 1; ; attempts++) {
      try {
        return await run();
      } catch (error) {
        // The disk of the other side is full, or the like.
        if (diskFaultOf(error) !== undefined) throw error;
        if (attempts === ATTEMPTS_MAX)
          throw unavailable('The object store cannot be reached', { cause: error });
        await Bun.sleep(retryMs * 2 ** attempts);
      }
    }
  }
  const inTime = <Part>(promise: Promise<Part>): Promise<Part> =>
    within(promise, silenceMs, () => {
      throw new Error('the store is silent');
    });

  return {
    /**
     * `read` reads the body to its end, as slowly as it likes; it is called again where that fails, also because no bytes come any
     * more. Undefined for an object that is not there.
     */
    get: <Value>(key: string, read: (object: StreamedObject) => Promise<Value>): Promise<Value | undefined> =>
      repeat(async () => {
        const url = await objects.readUrl(key, URL_SECONDS);
        const ending = new AbortController();
        try {
          // Stored bytes stay as they are, also with a content encoding.
          const answer = await inTime(fetch(url, { decompress: false, signal: ending.signal }));
          if (answer.status === 404) return undefined;
          const size = answer.headers.get('content-length');
          if (!answer.ok || size === null) throw new Error(`the store answers ${answer.status}`);
          const type = answer.headers.get('content-type') ?? '';
          return await read({ size: Number(size), type, body: watched(answer.body, inTime) });
        } finally {
          // An answer that was read to its end is not affected.
          ending.abort();
        }
      }),

    /** Writes an object, or replaces it. A blob is read again at each attempt; a stream has one attempt. */
    async put(
      key: string,
      { size, type, body }: Omit<StreamedObject, 'body'> & { body: Blob | ReadableStream<Uint8Array> },
    ): Promise<void> {
      const send = async (): Promise<void> => {
        const answer = await fetch(await objects.writeUrl(key, URL_SECONDS), {
          method: 'PUT',
          body,
          headers: { 'content-type': type, 'content-length': `${size}` },
          signal: AbortSignal.timeout(CALL_TIMEOUT_MS + (size * 1000) / BYTES_PER_SECOND_MIN),
        });
        await answer.arrayBuffer();
        if (!answer.ok) throw new Error(`the store answers ${answer.status}`);
      };
      await (body instanceof Blob ? repeat(send) : send());
    },

    /** All objects of the bucket, in pages. */
    list: () => objects.list(''),
  };
}

/** Only the time counts in which the reader waits. */
function watched(
  body: ReadableStream<Uint8Array> | null,
  inTime: <Part>(promise: Promise<Part>) => Promise<Part>,
): ReadableStream<Uint8Array> {
  const reader = (body ?? new Blob().stream()).getReader();
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await inTime(reader.read());
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
