// The cache of key sets: a current set is used without a request, and an outdated one for a while if its URL fails.

import { LRUCache } from 'lru-cache';
import { unavailable } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { fetchKeySet, type KeySetUrl } from './fetch-key-set.ts';
import { importKeySet, type KeySet } from './key-set.ts';
import {
  KEY_SET_FIRST_RETRY_MS,
  KEY_SET_OUTAGE_MS_MAX,
  KEY_SET_RETRY_MS,
  KEY_SET_TTL_MS,
  KEY_SETS_MAX,
  UNKNOWN_KEY_PAUSE_MS,
} from './limits.ts';

export type KeySets = {
  /**
   * The key of this id, without a promise where it is cached; undefined where the set has none. Throws 503 where the set
   * can be neither fetched nor taken from the cache.
   */
  find(source: KeySetUrl | object, kid: string): CryptoKey | undefined | Promise<CryptoKey | undefined>;
};

type Remote = {
  source: KeySetUrl;
  keys: KeySet | undefined;
  fetchedAtMs: number;
  failedAtMs: number;
  /** When an unknown key id last caused a fetch before the set expired. */
  searchedAtMs: number;
  fetching: Promise<boolean> | undefined;
};

/** `now`: monotonic milliseconds, for tests. `keySetsMax`: size of the cache. */
export function createKeySets(deps: { log: Logger; now?: () => number; keySetsMax?: number }): KeySets {
  const { log, now = () => performance.now(), keySetsMax = KEY_SETS_MAX } = deps;
  // Two caches, because the same URL may answer differently from a private address.
  const remotes = { anywhere: createMemory(keySetsMax), publicly: createMemory(keySetsMax) };
  const inline = new WeakMap<object, Promise<KeySet>>();

  const refresh = (remote: Remote): Promise<boolean> => {
    remote.fetching ??= fetchInto(remote).finally(() => {
      remote.fetching = undefined;
    });
    return remote.fetching;
  };

  /** Whether the set could be fetched. */
  const fetchInto = async (remote: Remote): Promise<boolean> => {
    try {
      remote.keys = await fetchKeySet(remote.source);
      remote.fetchedAtMs = now();
      remote.failedAtMs = Number.NEGATIVE_INFINITY;
      return true;
    } catch (error) {
      remote.failedAtMs = now();
      const { origin, pathname } = new URL(remote.source.url);
      log.warn(
        { url: `${origin}${pathname}`, err: error },
        'the keys that sign events of bots could not be fetched',
      );
      return false;
    }
  };

  const search = async (remote: Remote, kid: string): Promise<CryptoKey | undefined> => {
    if (now() - remote.searchedAtMs < UNKNOWN_KEY_PAUSE_MS) {
      await remote.fetching;
    } else {
      remote.searchedAtMs = now();
      await refresh(remote);
    }
    return remote.keys?.get(kid);
  };

  const renew = async (remote: Remote, kid: string): Promise<CryptoKey | undefined> => {
    const pauseMs = remote.keys === undefined ? KEY_SET_FIRST_RETRY_MS : KEY_SET_RETRY_MS;
    if (now() - remote.failedAtMs >= pauseMs) await refresh(remote);
    if (remote.keys === undefined || now() - remote.fetchedAtMs > KEY_SET_OUTAGE_MS_MAX)
      throw unavailable('The keys that sign events cannot be fetched at the moment');
    return remote.keys.get(kid);
  };

  return {
    find(source, kid) {
      if (!('url' in source)) {
        const imported = inline.get(source) ?? importKeySet(source);
        inline.set(source, imported);
        return imported.then((keys) => keys.get(kid));
      }
      const remote = remoteOf(source.anywhere ? remotes.anywhere : remotes.publicly, source);
      const current = remote.keys !== undefined && now() - remote.fetchedAtMs < KEY_SET_TTL_MS;
      if (!current) return renew(remote, kid);
      return remote.keys?.get(kid) ?? search(remote, kid);
    },
  };
}

const createMemory = (max: number) => new LRUCache<string, Remote>({ max });

function remoteOf(remotes: LRUCache<string, Remote>, source: KeySetUrl): Remote {
  const known = remotes.get(source.url);
  if (known !== undefined) return known;
  const never = Number.NEGATIVE_INFINITY;
  const times = { fetchedAtMs: never, failedAtMs: never, searchedAtMs: never };
  const remote: Remote = { source, keys: undefined, fetching: undefined, ...times };
  remotes.set(source.url, remote);
  return remote;
}
