import type { Document } from '../document.ts';
import type { Viewer } from '../policy.ts';
import type { DocumentStore } from '../store.ts';
import { type EditDeps, edit } from './editing.ts';

/**
 * Archives or un-archives the document that an id or name means; status stays. Repeating it changes nothing.
 * Throws 404 unseen, 403 for viewers who may not edit it, 409 binned.
 */
export function createArchive(
  deps: EditDeps & { store: Pick<DocumentStore, 'setArchived'>; archived: boolean },
) {
  const { store, archived } = deps;
  const preference = archived ? 'to-archive' : 'to-unarchive';
  return (viewer: Viewer, reference: string): Promise<Document> =>
    edit(deps, { viewer, reference, preference }, (found) => store.setArchived(viewer, found.id, archived));
}
