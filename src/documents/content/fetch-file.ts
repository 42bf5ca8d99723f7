// A file as the object store sends it, up to a ceiling of bytes and of time.

import { FETCH_MS_MAX, FETCH_STALL_MS_MAX } from './limits.ts';
import type { ReadRequest } from './protocol.ts';
import type { SourceFile } from './source-file.ts';
import { Unreadable } from './unreadable.ts';

/** The store does not hand the file out now; another attempt may find it. */
export class StoreUnavailable extends Error {}

/**
 * Fetches the file at a signed URL. Throws Unreadable for one that is not there or has more than `bytesMax` bytes, of which no
 * more are fetched, and StoreUnavailable for everything else. No message names the URL.
 */
export async function fetchFile(
  url: string,
  { name, contentType, bytesMax }: Pick<ReadRequest, 'name' | 'contentType' | 'bytesMax'>,
  { stallMsMax = FETCH_STALL_MS_MAX } = {},
): Promise<SourceFile> {
  const ended = new AbortController();
  const whole = setTimeout(() => ended.abort(), FETCH_MS_MAX);
  const stall = setTimeout(() => ended.abort(), stallMsMax);
  try {
    const response = await fetch(url, { signal: ended.signal });
    if (response.status === 404) throw new Unreadable('failed', 'the object is not in the store');
    if (!response.ok) throw new StoreUnavailable(`the object store answers ${response.status}`);
    const size = Number(response.headers.get('content-length') ?? 0);
    if (size > bytesMax) throw tooLarge(bytesMax);
    return { bytes: await readBody(response, bytesMax, () => stall.refresh()), name, contentType };
  } catch (error) {
    if (error instanceof Unreadable || error instanceof StoreUnavailable) throw error;
    if (ended.signal.aborted) throw new StoreUnavailable('the object store does not send the file in time');
    throw new StoreUnavailable('the object store cannot be reached');
  } finally {
    clearTimeout(whole);
    clearTimeout(stall);
    // The rest of an answer that is not needed is not fetched.
    ended.abort();
  }
}

/** A store need not say how long a file is, and a compressed one is longer than it says. */
async function readBody(response: Response, bytesMax: number, progress: () => void): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
    progress();
    length += part.length;
    if (length > bytesMax) throw tooLarge(bytesMax);
    parts.push(part);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

const tooLarge = (bytesMax: number) =>
  new Unreadable('unsupported', `the file is larger than ${bytesMax} bytes (CONTENT_BYTES_MAX)`);
