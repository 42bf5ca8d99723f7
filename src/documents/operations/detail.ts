import type { Document } from '../document.ts';
import { documentNotFound, type Viewer } from '../policy.ts';
import { parseReference } from '../reference.ts';
import type { DocumentStore } from '../store.ts';

/** The document that an id or name means to this viewer. Throws 404. */
export function createDetail({ store }: { store: Pick<DocumentStore, 'find'> }) {
  return async (viewer: Viewer, reference: string): Promise<Document> => {
    const document = await store.find({ viewer, ...parseReference(reference), preference: 'live' });
    if (document === undefined) throw documentNotFound();
    return document;
  };
}
