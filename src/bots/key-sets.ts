// The key sets (RFC 7517) that verify tokens of the platform: jose caches them; here are their limits, and what an outage of a URL means.

import { createLocalJWKSet, createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose';
import { LRUCache } from 'lru-cache';
import { unavailable } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import type { Logger } from '../core/logger.ts';
import { isObject } from './event-schema.ts';
import {
  KEY_BITS_MAX,
  KEY_BITS_MIN,
  KEY_SET_BYTES_MAX,
  KEY_SET_OUTAGE_MS_MAX,
  KEY_SET_TIMEOUT_MS,
  KEY_SET_TTL_MS,
  KEY_SETS_MAX,
  KEYS_IN_SET_MAX,
  UNKNOWN_KEY_PAUSE_MS,
} from './limits.ts';
import { fetchFromPublic } from './public-fetch.ts';

export type KeySet = { keys: Record<string, unknown>[] };

/** `anywhere`: whether the URL may lead to any address, not only to public ones. */
export type KeySetUrl = { url: string; anywhere: boolean };

export type KeySets = ReturnType<typeof createKeySets>;

/** Members that only a private or a symmetric key has. */
const SECRETS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

/**
 * The keys of a set that can verify events: RSA keys with an id, for RS256; others are ignored, as the standard requires. Throws an Error
 * with the reason for a value that is no key set, or that has no such key.
 */
export function toKeySet(given: unknown): KeySet {
  const listed = isObject(given) ? given['keys'] : undefined;
  if (!Array.isArray(listed)) throw new Error('a key set is an object with a list of keys');
  if (listed.length > KEYS_IN_SET_MAX) throw new Error(`a key set has at most ${KEYS_IN_SET_MAX} keys`);
  if (listed.some((key) => isObject(key) && SECRETS.some((name) => name in key)))
    throw new Error('a key set holds public keys, and no others');
  const keys = new Map<string, Record<string, unknown>>();
  for (const key of listed) {
    if (!isObject(key) || typeof key['kid'] !== 'string' || keys.has(key['kid'])) continue;
    const { kid, kty, n, e, alg = 'RS256', use = 'sig' } = key;
    if (kty !== 'RSA' || typeof n !== 'string' || typeof e !== 'string') continue;
    const bits = Buffer.from(n, 'base64url').length * 8;
    if (alg !== 'RS256' || use !== 'sig' || bits < KEY_BITS_MIN || bits > KEY_BITS_MAX) continue;
    keys.set(key['kid'], { kid, kty, n, e, alg, use });
  }
  if (keys.size === 0) throw new Error('no key of the set is an RSA key for RS256 with a kid');
  return { keys: [...keys.values()] };
}

export function createKeySets(log: Logger) {
  const remote = new LRUCache<string, JWTVerifyGetKey>({ max: KEY_SETS_MAX });
  const inline = new WeakMap<object, JWTVerifyGetKey>();
  return {
    /** The keys of a source, for jose; throws 503 while a set can be neither fetched nor taken from the cache. */
    of(source: KeySetUrl | KeySet): JWTVerifyGetKey {
      if (!('url' in source)) {
        const keys = inline.get(source) ?? createLocalJWKSet(toKeySet(source));
        inline.set(source, keys);
        return keys;
      }
      // The same URL may answer differently from a private address.
      const name = `${source.anywhere ? 'anywhere' : 'publicly'} ${source.url}`;
      const keys = remote.get(name) ?? createRemoteKeySet(source, log);
      remote.set(name, keys);
      return keys;
    },
  };
}

/** A key set that is fetched once an hour, and used for a day if its URL fails. */
function createRemoteKeySet(source: KeySetUrl, log: Logger): JWTVerifyGetKey {
  let last: { keySet: KeySet; fetchedAtMs: number } | undefined;
  let searchedAtMs = Number.NEGATIVE_INFINITY;
  const fetchOrKeep = async (url: string, { signal }: { signal: AbortSignal }): Promise<Response> => {
    try {
      last = { keySet: await fetchKeySet(source, signal), fetchedAtMs: Date.now() };
    } catch (error) {
      const { origin, pathname } = new URL(url);
      log.warn({ url: `${origin}${pathname}`, err: error }, 'the keys that sign events could not be fetched');
      if (last === undefined || Date.now() - last.fetchedAtMs > KEY_SET_OUTAGE_MS_MAX)
        throw unavailable('The keys that sign events cannot be fetched at the moment', { cause: error });
    }
    return Response.json(last.keySet);
  };
  const keys = createRemoteJWKSet(new URL(source.url), {
    cacheMaxAge: KEY_SET_TTL_MS,
    cooldownDuration: Number.POSITIVE_INFINITY,
    timeoutDuration: KEY_SET_TIMEOUT_MS,
    [customFetch]: fetchOrKeep,
  });
  return async (header, token) => {
    try {
      return await keys(header, token);
    } catch (error) {
      // A key that was published since: looked for at once, but not for each token that names an unknown key.
      const isPausing = Date.now() - searchedAtMs < UNKNOWN_KEY_PAUSE_MS && !keys.reloading;
      if (!(error instanceof errors.JWKSNoMatchingKey) || isPausing) throw error;
      searchedAtMs = Date.now();
      await keys.reload();
      return keys(header, token);
    }
  };
}

async function fetchKeySet({ url, anywhere }: KeySetUrl, signal: AbortSignal): Promise<KeySet> {
  const response = anywhere
    ? await fetch(url, { headers: { accept: 'application/json' }, redirect: 'error', signal })
    : await fetchFromPublic(new URL(url), { signal });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`the key set was answered with ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > KEY_SET_BYTES_MAX) throw new Error(`the key set is larger than ${KEY_SET_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return toKeySet(parseJson(Buffer.concat(chunks).toString('utf8')));
}
