import { parseJson } from '../core/json.ts';
import { importKeySet, type KeySet } from './key-set.ts';
import { KEY_SET_BYTES_MAX, KEY_SET_TIMEOUT_MS } from './limits.ts';

/**
 * The key set at a URL, bounded in time and size. Redirects are not followed: they could lead where the URL may not.
 * Throws an Error for whatever is no key set.
 */
export async function fetchKeySet(url: string): Promise<KeySet> {
  const response = await fetch(url, {
    headers: { accept: 'application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(KEY_SET_TIMEOUT_MS),
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`the key set was answered with ${response.status}`);
  }
  return importKeySet(parseJson(await readText(response)));
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > KEY_SET_BYTES_MAX) throw new Error(`the key set is larger than ${KEY_SET_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
