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
