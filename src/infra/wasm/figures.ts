import type { Ending, Lane } from './work.ts';

/** What a pool has done since it was made, and does now. */
export type PoolFigures = {
  /** Those that are open, of those that should be. */
  threads: { open: number; wanted: number; replaced: number };
  lanes: Record<Lane, { waiting: number; running: number }>;
  /** By the kind of work. */
  kinds: ReadonlyMap<string, KindFigures>;
};

export type KindFigures = Record<Ending, number> & { waitMs: number; runMs: number };

/** Counts by the kind of work. */
export function createKindFigures() {
  const kinds = new Map<string, KindFigures>();
  return {
    kinds,
    of(kind: string): KindFigures {
      let figures = kinds.get(kind);
      if (figures === undefined) {
        figures = { done: 0, cancelled: 0, late: 0, failed: 0, refused: 0, waitMs: 0, runMs: 0 };
        kinds.set(kind, figures);
      }
      return figures;
    },
  };
}
