import type { Ending, Lane } from './work.ts';

/** What a pool has done since it was made, and does now. */
export type PoolMetrics = {
  /** Those that are open, of those that should be. */
  threads: { open: number; wanted: number; replaced: number };
  lanes: Record<Lane, { waiting: number; running: number }>;
  /** By the kind of work. */
  kinds: ReadonlyMap<string, KindMetrics>;
};

export type KindMetrics = Record<Ending, number> & { waitMs: number; runMs: number };

/** Counts by the kind of work. */
export function createKindMetrics() {
  const kinds = new Map<string, KindMetrics>();
  return {
    kinds,
    of(kind: string): KindMetrics {
      let metrics = kinds.get(kind);
      if (metrics === undefined) {
        metrics = { done: 0, cancelled: 0, late: 0, failed: 0, refused: 0, waitMs: 0, runMs: 0 };
        kinds.set(kind, metrics);
      }
      return metrics;
    },
  };
}
