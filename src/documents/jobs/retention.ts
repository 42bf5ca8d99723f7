import type { Clock } from '../../core/clock.ts';
import type { DocumentStore } from '../store.ts';

const BATCH = 1000;

/** Purges documents that have been in the bin for longer than the retention, in batches. */
export function createRetention(deps: {
  store: Pick<DocumentStore, 'purgeBinnedBefore'>;
  clock: Clock;
  retentionDays: number;
  changed(id: string): void;
  objectsQueued(): void;
}) {
  return async (signal: AbortSignal): Promise<void> => {
    const before = new Date(deps.clock.now().getTime() - deps.retentionDays * 86_400_000);
    let purged: string[];
    do {
      purged = await deps.store.purgeBinnedBefore(before, BATCH);
      for (const id of purged) deps.changed(id);
      if (purged.length > 0) deps.objectsQueued();
    } while (purged.length === BATCH && !signal.aborted);
  };
}
