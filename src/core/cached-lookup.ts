// A read-through cache that never returns a value after its invalidation.

import { LRUCache } from 'lru-cache';

/** Undefined is cached, too. */
type Entry<V> = { value: V | undefined };

const MISS_TTL_MS = 1_000;
const TTL_MS_MAX = 30_000;

/**
 * Concurrent `get`s of a key share one load. The result of a load that began before its key was dropped is not cached, and
 * not returned to calls after the drop. While `usable` is false (no notifications of changes arrive), each `get` loads for
 * itself.
 *
 * @param options.ttlMs at most 30 s, which bounds the effect of a lost notification
 * @param options.missTtlMs lifetime of a cached undefined (default 1 s)
 * @param options.entriesMax beyond it, the least recently used entry is evicted
 * @param options.now monotonic milliseconds, for tests
 */
export function createCachedLookup<V>(options: {
  load: (key: string) => Promise<V | undefined>;
  ttlMs: number;
  missTtlMs?: number;
  entriesMax: number;
  usable: () => boolean;
  now?: () => number;
}) {
  const { load, ttlMs, missTtlMs = MISS_TTL_MS, entriesMax, usable, now = () => performance.now() } = options;
  if (ttlMs > TTL_MS_MAX)
    throw new Error(`Cached values may live for ${TTL_MS_MAX} ms at most, not ${ttlMs}`);
  const entries = new LRUCache<string, Entry<V>>({
    // With `max`, arrays of that length would be made now, and filled anew by each reset.
    maxSize: entriesMax,
    sizeCalculation: () => 1,
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
        // Otherwise the key was dropped during the load, and the value may be outdated.
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
    /** The cached value, for callers that can continue without one. */
    getNow: (key: string): V | undefined => (usable() ? entries.get(key)?.value : undefined),
    /** The value, loaded unless it is cached; undefined where there is none. Rejects as `load` does. */
    get(key: string): V | undefined | Promise<V | undefined> {
      if (!usable()) {
        reset();
        return load(key);
      }
      const entry = entries.get(key);
      return entry === undefined ? (loads.get(key) ?? loadShared(key)) : entry.value;
    },
    /** Drops one key: later calls of `get` load the current value of the source. */
    drop(key: string): void {
      entries.delete(key);
      loads.delete(key);
    },
    reset,
  };
}
