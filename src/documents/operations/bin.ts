// The bin: in, out, and for good. Records are gone for good when a purge answers; their objects follow through a queue
// that is written in the same statement.

import type { Author } from '../../core/author.ts';
import { forbidden, notFound, type ServiceError } from '../../core/errors.ts';
import type { Document } from '../document.ts';
import { PURGE_BATCH } from '../limits.ts';
import { canSee, documentNotFound, parseDocumentId, type Viewer } from '../policy.ts';
import type { Purged } from '../purging.ts';
import type { DocumentCache, DocumentStore } from '../store.ts';

export type Bin = ReturnType<typeof createBin>;

export function createBin(deps: {
  store: DocumentStore;
  /** Documents by id, of which a changed one is dropped. */
  documents: DocumentCache;
  objectsQueued(): void;
}) {
  const { store, documents, objectsQueued } = deps;

  const settle = (purged: readonly string[]): void => {
    for (const id of purged) documents.drop(id);
    if (purged.length > 0) objectsQueued();
  };
  /** In batches; cut off between two of them, a repeat goes on. */
  const purgeAll = async (
    purgeSome: () => Promise<Purged>,
    isAborted: () => boolean = () => false,
  ): Promise<void> => {
    let purged: Purged;
    do {
      purged = await purgeSome();
      settle(purged.ids);
    } while (purged.more && !isAborted());
  };
  /** The 404 for a document that the viewer's bin lacks: it says so where the viewer sees that the document exists. */
  const notInBin = async (viewer: Viewer, id: string): Promise<ServiceError> => {
    const document = await store.locate(id);
    const seen = document !== undefined && document.status !== 'deleted' && canSee(viewer, document);
    return seen ? notFound('The document is not in the bin') : documentNotFound();
  };

  return {
    /** Throws 404 unseen or binned already, 403 for viewers who may only see it. */
    async put(viewer: Viewer, fileId: string, author: Author): Promise<void> {
      const id = parseDocumentId(fileId);
      if (await store.bin(viewer, id, author)) return documents.drop(id);
      const document = await store.locate(id);
      if (document === undefined || !canSee(viewer, document)) throw documentNotFound();
      if (document.status === 'deleted') throw notFound('The document is in the bin already');
      throw forbidden('Only the owner and admins may bin this document');
    },

    /** The document has the status again that it had before. Throws 404 when it is not in the viewer's bin. */
    async restore(viewer: Viewer, fileId: string, author: Author): Promise<Document> {
      const id = parseDocumentId(fileId);
      const document = await store.restore(viewer, id, author);
      if (document === undefined) throw await notInBin(viewer, id);
      documents.drop(id);
      return document;
    },

    /** Throws 404 when the document is not in the viewer's bin. */
    async purge(viewer: Viewer, fileId: string, author: Author): Promise<void> {
      const id = parseDocumentId(fileId);
      const purged = await store.purge(viewer, id, author);
      if (purged.length === 0) throw await notInBin(viewer, id);
      settle(purged);
    },

    /** Purges the viewer's own bin, admins' too: theirs alone. */
    empty: (viewer: Viewer, author: Author): Promise<void> =>
      purgeAll(() => store.purgeOwn(viewer, PURGE_BATCH, author)),

    /** Purges documents that were binned before the time. */
    expire: (before: Date, signal: AbortSignal): Promise<void> =>
      purgeAll(
        () => store.purgeBinnedBefore(before, PURGE_BATCH),
        () => signal.aborted,
      ),
  };
}
