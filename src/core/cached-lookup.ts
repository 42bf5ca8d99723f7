// Values looked up by key and kept for a while, without ever serving one that is known to be outdated.

import { LRUCache } from 'lru-cache';

export type CachedLookup<V> = {
  /** The value if it is at hand: for callers that can go on without waiting. */
  getNow: (key: string) => V | undefined;
  /** The value, loaded unless it is at hand; undefined where there is none. Rejects as `load` does. */
  get: (key: string) => V | undefined | Promise<V | undefined>;
  /** Forgets one key: a `get` from now on sees what the source holds now. */
  drop: (key: string) => void;
  /** Forgets all keys, likewise. */
  reset: () => void;
};

/** There may be none: that is kept, too. */
type Entry<V> = { value: V | undefined };

const MISS_TTL_MS = 1_000;
const TTL_MS_MAX = 30_000;

/**
 * Concurrent `get`s of a key share one load. A load that was under way when its key was dropped is neither kept nor
 * given to anyone who asked after the drop. While `usable` is false (changes would not be told) every `get` loads
 * for itself.
 *
 * @param options.ttlMs at most 30 s, so that even a lost notice does not matter for longer
 * @param options.missTtlMs how long "there is none" is kept (default 1 s)
 * @param options.entriesMax beyond it, the entry that was not used for longest goes
 * @param options.now monotonic milliseconds, for tests
 */
export function createCachedLookup<V>(options: {
  load: (key: string) => Promise<V | undefined>;
  ttlMs: number;
  missTtlMs?: number;
  entriesMax: number;
  usable: () => boolean;
  now?: () => number;
}): CachedLookup<V> {
  const { load, ttlMs, missTtlMs = MISS_TTL_MS, entriesMax, usable, now = () => performance.now() } = options;
  if (ttlMs > TTL_MS_MAX)
    throw new Error(`Cached values may live for ${TTL_MS_MAX} ms at most, not ${ttlMs}`);
  const entries = new LRUCache<string, Entry<V>>({
    max: entriesMax,
    ttl: ttlMs,
    ttlResolution: 0,
    perf: { now },
  });
  const loads = new Map<string, Promise<V | undefined>>();

  const reset = () => {
    entries.clear();
    loads.clear();
  };

  const loadShared = (key: string): Promise<V | undefined> => {
    const startedAt = now();
    const started: Promise<V | undefined> = load(key)
      .then((value) => {
        // Otherwise the key was dropped meanwhile, and the value may be from before.
        if (loads.get(key) === started && usable())
          entries.set(key, { value }, { ttl: value === undefined ? missTtlMs : ttlMs, start: startedAt });
        return value;
      })
      .finally(() => {
        if (loads.get(key) === started) loads.delete(key);
      });
    loads.set(key, started);
    return started;
  };

  return {
    getNow: (key) => (usable() ? entries.get(key)?.value : undefined),
    get(key) {
      if (!usable()) {
        reset();
        return load(key);
      }
      const entry = entries.get(key);
      return entry === undefined ? (loads.get(key) ?? loadShared(key)) : entry.value;
    },
    drop(key) {
      entries.delete(key);
      loads.delete(key);
    },
    reset,
  };
}
