// The bytes of objects, for copies of all of them: read and written as streams, by signed URLs.

import { diskFaultOf } from '../../core/disk-fault.ts';
import { unavailable } from '../../core/errors.ts';
import type { ObjectStore } from './client.ts';

/** An object as it is read. */
export type IncomingObject = { size: number; type: string; body: ReadableStream<Uint8Array> };

/** An object to be written. */
export type OutgoingObject = { size: number; type: string; body: Blob };

export type Transfer = ReturnType<typeof createTransfer>;

/** S3's largest object of one request. */
const OBJECT_BYTES_MAX = 5 * 1024 ** 3;
/** A slower transfer is given up. */
const BYTES_PER_SECOND_MIN = 100_000;
const CALL_TIMEOUT_MS = 30_000;
const URL_SECONDS = 86_400;
const ATTEMPTS_MAX = 4;
const RETRY_MS = 500;

/** Calls that fail because the store is away, refuses or breaks off are repeated a few times, and throw `unavailable` then. */
export function createTransfer(objects: Pick<ObjectStore, 'readUrl' | 'writeUrl' | 'head'>) {
  return {
    /** `read` reads the body to its end; it is called again where that fails. Undefined for an object that is not there. */
    get: <Value>(key: string, read: (object: IncomingObject) => Promise<Value>): Promise<Value | undefined> =>
      attempt(async () => {
        // Stored bytes are to stay as they are, also those that were stored with a content encoding.
        const answer = await fetch(objects.readUrl(key, URL_SECONDS), {
          decompress: false,
          signal: AbortSignal.timeout(CALL_TIMEOUT_MS + (OBJECT_BYTES_MAX * 1000) / BYTES_PER_SECOND_MIN),
        });
        if (answer.status === 404) return undefined;
        const { body } = answer;
        const size = answer.headers.get('content-length');
        if (!answer.ok || size === null) throw new Error(`the store answers ${answer.status}`);
        const type = answer.headers.get('content-type') ?? '';
        return await read({ size: Number(size), type, body: body ?? new Blob().stream() });
      }),

    /** Writes an object, or replaces it. `body` is read anew at each attempt. */
    put: (key: string, object: OutgoingObject): Promise<void> =>
      attempt(async () => {
        const status = await send(objects.writeUrl(key, URL_SECONDS), object, {});
        if (!isSuccess(status)) throw new Error(`the store answers ${status}`);
      }),

    /** Writes an object unless there is one, which stays as it is; returns whether it was written. */
    putNew: (key: string, object: OutgoingObject): Promise<boolean> =>
      attempt(async () => {
        if ((await objects.head(key)) !== undefined) return false;
        const url = objects.writeUrl(key, URL_SECONDS);
        const status = await send(url, object, { 'if-none-match': '*' });
        if (status === 412) return false;
        // Some stores refuse the condition; they have said that there is no object.
        const last = status === 501 ? await send(url, object, {}) : status;
        if (!isSuccess(last)) throw new Error(`the store answers ${last}`);
        return true;
      }),
  };
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** The status of the answer, which has been read. */
async function send(url: string, object: OutgoingObject, headers: Record<string, string>): Promise<number> {
  const answer = await fetch(url, {
    method: 'PUT',
    body: object.body,
    headers: { 'content-type': object.type, ...headers },
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS + (object.size * 1000) / BYTES_PER_SECOND_MIN),
  });
  await answer.arrayBuffer();
  return answer.status;
}

async function attempt<Value>(run: () => Promise<Value>): Promise<Value> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await run();
    } catch (error) {
      // The disk of the other side is full, or the like.
      if (diskFaultOf(error) !== undefined) throw error;
      if (attempts === ATTEMPTS_MAX)
        throw unavailable('The object store cannot be reached', { cause: error });
      await Bun.sleep(RETRY_MS * 2 ** attempts);
    }
  }
}
