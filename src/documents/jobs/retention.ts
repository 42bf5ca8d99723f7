import type { Clock } from '../../core/clock.ts';
import { PURGE_BATCH } from '../limits.ts';
import type { DocumentStore } from '../store.ts';

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
      purged = await deps.store.purgeBinnedBefore(before, PURGE_BATCH);
      for (const id of purged) deps.changed(id);
      if (purged.length > 0) deps.objectsQueued();
    } while (purged.length === PURGE_BATCH && !signal.aborted);
  };
}
