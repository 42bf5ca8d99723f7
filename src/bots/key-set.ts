// JSON Web Key Sets (RFC 7517), as far as events are signed: RSA keys with an id, for RS256.

import { importJWK, type JWK } from 'jose';
import { isObject } from './event-schema.ts';
import { KEY_BITS_MAX, KEY_BITS_MIN, KEYS_IN_SET_MAX } from './limits.ts';

/** Keys by their `kid`. */
export type KeySet = ReadonlyMap<string, CryptoKey>;

/** Members that only a private or a symmetric key has. */
const SECRETS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

/**
 * The keys of a set that can verify events; others are ignored, as the standard requires.
 * Throws an Error with the reason for a value that is no key set, or that has no such key.
 */
export async function importKeySet(given: unknown): Promise<KeySet> {
  const listed = isObject(given) ? given['keys'] : undefined;
  if (!Array.isArray(listed)) throw new Error('a key set is an object with a list of keys');
  if (listed.length > KEYS_IN_SET_MAX) throw new Error(`a key set has at most ${KEYS_IN_SET_MAX} keys`);
  if (listed.some((key) => isObject(key) && SECRETS.some((name) => name in key)))
    throw new Error('a key set holds public keys, and no others');
  const keys = new Map<string, CryptoKey>();
  for (const each of listed) {
    const kid = isObject(each) ? each['kid'] : undefined;
    if (!isObject(each) || typeof kid !== 'string' || keys.has(kid)) continue;
    const key = await importKey(each);
    if (key !== undefined) keys.set(kid, key);
  }
  if (keys.size === 0) throw new Error('no key of the set is an RSA key for RS256 with a kid');
  return keys;
}

async function importKey(jwk: Record<string, unknown>): Promise<CryptoKey | undefined> {
  const { kty, n, e, alg = 'RS256', use = 'sig' } = jwk;
  if (kty !== 'RSA' || typeof n !== 'string' || typeof e !== 'string') return undefined;
  if (alg !== 'RS256' || use !== 'sig') return undefined;
  try {
    const key = await importJWK({ kty, n, e } satisfies JWK, 'RS256');
    return key instanceof CryptoKey && hasSafeLength(key) ? key : undefined;
  } catch {
    return undefined;
  }
}

function hasSafeLength({ algorithm }: CryptoKey): boolean {
  const { modulusLength } = algorithm as { modulusLength?: number };
  return modulusLength !== undefined && modulusLength >= KEY_BITS_MIN && modulusLength <= KEY_BITS_MAX;
}
