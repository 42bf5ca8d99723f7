import { notFound, type ServiceError } from '../../core/errors.ts';
import { isUuid } from '../../core/ids.ts';
import { canSee, documentNotFound, type Viewer } from '../policy.ts';
import type { DocumentStore } from '../store.ts';

/** The 404 for a document that the viewer's bin lacks: it says so where the viewer may see that the document exists. */
export async function notInBin(
  store: Pick<DocumentStore, 'locate'>,
  viewer: Viewer,
  fileId: string,
): Promise<ServiceError> {
  const document = isUuid(fileId) ? await store.locate(fileId.toLowerCase()) : undefined;
  if (document === undefined || document.status === 'deleted' || !canSee(viewer, document)) {
    return documentNotFound();
  }
  return notFound('The document is not in the bin');
}
