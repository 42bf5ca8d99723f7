// The bytes of objects, for copies of all of them: read and written as streams, by signed URLs.

import { diskFaultOf } from '../../core/disk-fault.ts';
import { unavailable } from '../../core/errors.ts';
import { within } from '../../core/wait.ts';
import type { ObjectStore } from './client.ts';

/** An object as it is read. */
export type IncomingObject = { size: number; type: string; body: ReadableStream<Uint8Array> };

/** A way to the bytes of objects: that of `createTransfer`, or a shorter one, which may have the bytes of a small object at once. */
export type ObjectReader = {
  get<Value>(key: string, read: (object: ReadObject) => Promise<Value>): Promise<Value | undefined>;
};
export type ReadObject = Omit<IncomingObject, 'body'> & {
  body: Uint8Array<ArrayBuffer> | AsyncIterable<Uint8Array>;
};

/** The bytes of a small one. */
export async function wholeOf(body: ReadObject['body']): Promise<Uint8Array<ArrayBuffer>> {
  return body instanceof Uint8Array ? body : Buffer.concat(await Array.fromAsync(body));
}

/** An object to be written. */
export type OutgoingObject = { size: number; type: string; body: Blob };

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
  objects: Pick<ObjectStore, 'readUrl' | 'writeUrl'>,
  { silenceMs = CALL_TIMEOUT_MS, retryMs = RETRY_MS } = {},
) {
  const attempt = <Value>(run: () => Promise<Value>): Promise<Value> => repeat(run, retryMs);
  return {
    /**
     * `read` reads the body to its end, as slowly as it likes; it is called again where that fails, also because no bytes come any
     * more. Undefined for an object that is not there.
     */
    get: <Value>(key: string, read: (object: IncomingObject) => Promise<Value>): Promise<Value | undefined> =>
      attempt(async () => {
        const url = await objects.readUrl(key, URL_SECONDS);
        const ending = new AbortController();
        const inTime = <Part>(promise: Promise<Part>): Promise<Part> =>
          within(promise, silenceMs, () => {
            throw new Error('the store is silent');
          });
        try {
          // Stored bytes stay as they are, also with a content encoding.
          const answer = await inTime(fetch(url, { decompress: false, signal: ending.signal }));
          if (answer.status === 404) return undefined;
          const size = answer.headers.get('content-length');
          if (!answer.ok || size === null) throw new Error(`the store answers ${answer.status}`);
          const type = answer.headers.get('content-type') ?? '';
          const body = watched(answer.body ?? new Blob().stream(), inTime);
          return await read({ size: Number(size), type, body });
        } finally {
          // An answer that was read to its end is not affected.
          ending.abort();
        }
      }),

    /** Writes an object, or replaces it. `body` is read anew at each attempt. */
    put: (key: string, object: OutgoingObject): Promise<void> =>
      attempt(async () => {
        const status = await send(await objects.writeUrl(key, URL_SECONDS), object);
        if (!isSuccess(status)) throw new Error(`the store answers ${status}`);
      }),
  };
}

/** Only the time counts in which the reader waits. */
function watched(
  body: ReadableStream<Uint8Array>,
  inTime: <Part>(promise: Promise<Part>) => Promise<Part>,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
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

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** The status of the answer, which has been read. */
async function send(url: string, object: OutgoingObject): Promise<number> {
  const answer = await fetch(url, {
    method: 'PUT',
    body: object.body,
    headers: { 'content-type': object.type },
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS + (object.size * 1000) / BYTES_PER_SECOND_MIN),
  });
  await answer.arrayBuffer();
  return answer.status;
}

async function repeat<Value>(run: () => Promise<Value>, retryMs: number): Promise<Value> {
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
