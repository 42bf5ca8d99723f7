import { parseJson } from '../core/json.ts';
import { importKeySet, type KeySet } from './key-set.ts';
import { KEY_SET_BYTES_MAX, KEY_SET_TIMEOUT_MS } from './limits.ts';
import { addressOf, type Lookup, publicAddressesOf } from './public-address.ts';

export type KeySetUrl = {
  url: string;
  /** Whether it may lead to any address, not only to public ones. */
  anywhere: boolean;
};

/**
 * Fetches the key set at a URL, bounded in time and size. Redirects are not followed, because they could lead to addresses
 * that the URL may not have. Throws an Error for a response that is no key set, and AddressNotPublic. `lookup` is for tests.
 */
export async function fetchKeySet({ url, anywhere }: KeySetUrl, lookup?: Lookup): Promise<KeySet> {
  const signal = AbortSignal.timeout(KEY_SET_TIMEOUT_MS);
  const response = anywhere
    ? await fetch(url, { ...REQUEST, signal })
    : await fetchFromPublic(new URL(url), { signal, lookup });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`the key set was answered with ${response.status}`);
  }
  return importKeySet(parseJson(await readText(response)));
}

const REQUEST = { headers: { accept: 'application/json' }, redirect: 'error' } as const;

/** Tries the checked addresses one after the other; the name is not resolved again, because its addresses could change. */
async function fetchFromPublic(
  url: URL,
  options: { signal: AbortSignal; lookup: Lookup | undefined },
): Promise<Response> {
  let failure: unknown;
  for (const address of await publicAddressesOf(url, options)) {
    try {
      return await fetchAt(url, address, options);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/**
 * Fetches a URL (https) from the server at this address, whose certificate has to be that of the URL's host. `ca`: a
 * certificate to trust instead of the system's, for tests.
 */
export async function fetchAt(
  url: URL,
  address: string,
  { signal, ca }: { signal: AbortSignal; ca?: string },
): Promise<Response> {
  if (url.protocol !== 'https:') throw new Error('a key set on the internet is fetched by https');
  const at = new URL(url);
  at.hostname = address.includes(':') ? `[${address}]` : address;
  return fetch(at, {
    ...REQUEST,
    headers: { ...REQUEST.headers, host: url.host },
    // The connection is valid for this name only.
    keepalive: false,
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...(addressOf(url) === undefined ? { serverName: url.hostname } : {}),
    },
    signal,
  });
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
