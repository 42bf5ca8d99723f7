import { isUuid } from '../../core/ids.ts';
import type { Document } from '../document.ts';
import type { Viewer } from '../policy.ts';
import type { DocumentStore } from '../store.ts';
import { notInBin } from './not-in-bin.ts';

/** Takes a document out of the bin, with the status that it had before. Throws 404 when it is not in the viewer's bin. */
export function createRestore({
  store,
  changed,
}: {
  store: Pick<DocumentStore, 'restore' | 'locate'>;
  changed(id: string): void;
}) {
  return async (viewer: Viewer, fileId: string): Promise<Document> => {
    const document = isUuid(fileId) ? await store.restore(viewer, fileId.toLowerCase()) : undefined;
    if (document === undefined) throw await notInBin(store, viewer, fileId);
    changed(document.id);
    return document;
  };
}
