import { forbidden, notFound } from '../../core/errors.ts';
import { isUuid } from '../../core/ids.ts';
import { canSee, documentNotFound, type Viewer } from '../policy.ts';
import type { DocumentStore } from '../store.ts';

/** Puts a document into the bin. Throws 404 unseen or binned already, 403 for viewers who may only see it. */
export function createBin({
  store,
  changed,
}: {
  store: Pick<DocumentStore, 'bin' | 'locate'>;
  changed(id: string): void;
}) {
  return async (viewer: Viewer, fileId: string): Promise<void> => {
    if (!isUuid(fileId)) throw documentNotFound();
    const id = fileId.toLowerCase();
    if (await store.bin(viewer, id)) return changed(id);
    const document = await store.locate(id);
    if (document === undefined || !canSee(viewer, document)) throw documentNotFound();
    if (document.status === 'deleted') throw notFound('The document is in the bin already');
    throw forbidden('Only the owner and admins may bin this document');
  };
}
