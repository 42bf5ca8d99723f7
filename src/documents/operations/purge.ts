import { isUuid } from '../../core/ids.ts';
import { PURGE_BATCH } from '../limits.ts';
import type { Viewer } from '../policy.ts';
import type { DocumentStore } from '../store.ts';
import { notInBin } from './not-in-bin.ts';

/**
 * Deletes binned documents for good. The records are gone when this answers; their objects follow through a
 * queue that was written in the same statement.
 */
export function createPurge({
  store,
  changed,
  objectsQueued,
}: {
  store: Pick<DocumentStore, 'purge' | 'purgeOwn' | 'locate'>;
  changed(id: string): void;
  objectsQueued(): void;
}) {
  const settle = (purged: readonly string[]): void => {
    for (const id of purged) changed(id);
    if (purged.length > 0) objectsQueued();
  };
  return {
    /** Throws 404 when the document is not in the viewer's bin. */
    async one(viewer: Viewer, fileId: string): Promise<void> {
      const purged = isUuid(fileId) ? await store.purge(viewer, fileId.toLowerCase()) : [];
      if (purged.length === 0) throw await notInBin(store, viewer, fileId);
      settle(purged);
    },

    /** Empties the viewer's own bin, admins' too: theirs alone. Cut off between two batches, a repeat goes on. */
    async own(viewer: Viewer): Promise<void> {
      let purged: string[];
      do {
        purged = await store.purgeOwn(viewer, PURGE_BATCH);
        settle(purged);
      } while (purged.length === PURGE_BATCH);
    },
  };
}
