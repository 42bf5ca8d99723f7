/** Values looked up by key and kept for a while, without ever serving one that is known to be outdated. */

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

type Entry<V> = { value: V | undefined; expiresAt: number };

const MISS_TTL_MS = 1_000;
const TTL_MS_MAX = 30_000;

/**
 * Concurrent `get`s of a key share one load. A load that was under way when its key was dropped is neither kept nor
 * given to anyone who asked after the drop. While `usable` is false (nobody would tell of changes) every `get` loads
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
  /** In the order of last use: a Map keeps insertion order. */
  const entries = new Map<string, Entry<V>>();
  const loads = new Map<string, Promise<V | undefined>>();

  const reset = () => {
    entries.clear();
    loads.clear();
  };

  const find = (key: string): Entry<V> | undefined => {
    const entry = entries.get(key);
    if (entry === undefined) return undefined;
    entries.delete(key);
    if (entry.expiresAt <= now()) return undefined;
    entries.set(key, entry);
    return entry;
  };

  const keep = (key: string, value: V | undefined, readAt: number) => {
    entries.delete(key);
    entries.set(key, { value, expiresAt: readAt + (value === undefined ? missTtlMs : ttlMs) });
    if (entries.size <= entriesMax) return;
    const [oldest] = entries.keys();
    if (oldest !== undefined) entries.delete(oldest);
  };

  const loadShared = (key: string): Promise<V | undefined> => {
    const startedAt = now();
    const started: Promise<V | undefined> = load(key)
      .then((value) => {
        // Otherwise the key was dropped meanwhile, and the value may be from before.
        if (loads.get(key) === started && usable()) keep(key, value, startedAt);
        return value;
      })
      .finally(() => {
        if (loads.get(key) === started) loads.delete(key);
      });
    loads.set(key, started);
    return started;
  };

  return {
    getNow: (key) => (usable() ? find(key)?.value : undefined),
    get(key) {
      if (!usable()) {
        reset();
        return load(key);
      }
      const entry = find(key);
      return entry === undefined ? (loads.get(key) ?? loadShared(key)) : entry.value;
    },
    drop(key) {
      entries.delete(key);
      loads.delete(key);
    },
    reset,
  };
}
