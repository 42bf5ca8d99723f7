// A file as the object store sends it, part by part, up to a ceiling of bytes and of time.

import { FETCH_MS_MAX, FETCH_STALL_MS_MAX } from './limits.ts';
import { Unreadable } from './unreadable.ts';

/** The store does not hand the file out now; another attempt may find it. */
export class StoreUnavailable extends Error {}

/**
 * The parts of the file at a signed URL. Throws Unreadable for one that is not there or has more than `bytesMax` bytes, of which
 * no more are fetched, and StoreUnavailable for everything else. No message names the URL.
 */
export async function* fetchFile(
  url: string,
  bytesMax: number,
  { stallMsMax = FETCH_STALL_MS_MAX, signal }: { stallMsMax?: number; signal?: AbortSignal } = {},
): AsyncGenerator<Uint8Array> {
  const ended = new AbortController();
  const end = (): void => ended.abort();
  const whole = setTimeout(end, FETCH_MS_MAX);
  let stall = setTimeout(end, stallMsMax);
  signal?.addEventListener('abort', end, { once: true });
  try {
    const response = await fetch(url, { signal: ended.signal });
    if (response.status === 404) throw new Unreadable('failed', 'the object is not in the store');
    if (!response.ok) throw new StoreUnavailable(`the object store answers ${response.status}`);
    if (Number(response.headers.get('content-length') ?? 0) > bytesMax) throw tooLarge(bytesMax);
    // A store need not say how long a file is, and a compressed one is longer than it says.
    let length = 0;
    for await (const part of response.body ?? []) {
      length += part.length;
      if (length > bytesMax) throw tooLarge(bytesMax);
      // The reader takes its time.
      clearTimeout(stall);
      yield part;
      stall = setTimeout(end, stallMsMax);
    }
  } catch (error) {
    if (error instanceof Unreadable || error instanceof StoreUnavailable) throw error;
    if (ended.signal.aborted) throw new StoreUnavailable('the object store does not send the file in time');
    throw new StoreUnavailable('the object store cannot be reached');
  } finally {
    clearTimeout(whole);
    clearTimeout(stall);
    signal?.removeEventListener('abort', end);
    // The rest of an answer that is not needed is not fetched.
    ended.abort();
  }
}

const tooLarge = (bytesMax: number) =>
  new Unreadable('unsupported', `the file is larger than ${bytesMax} bytes (CONTENT_BYTES_MAX)`);
