import type { Ending, Lane } from './work.ts';

/** The totals of a pool since it was made, and its present state. */
export type PoolMetrics = {
  /** The number of open threads, and the number that should be open. */
  threads: { open: number; wanted: number; replaced: number };
  lanes: Record<Lane, { waiting: number; running: number }>;
  /** By the kind of work. */
  kinds: ReadonlyMap<string, KindMetrics>;
};

export type KindMetrics = Record<Ending, number> & { waitMs: number; runMs: number };
