import { forbidden } from '../../core/errors.ts';
import type { Document, DocumentChanges } from '../document.ts';
import { refuseUnreachableName } from '../name.ts';
import { canAdminister, type Viewer } from '../policy.ts';
import type { DocumentMetadataPatch } from '../schema.ts';
import type { DocumentStore } from '../store.ts';
import { type EditDeps, edit } from './editing.ts';

/**
 * Sets the given metadata fields of a document and leaves the others.
 * Throws 404 unseen, 403 for viewers who may not edit it (or not its `access`), 409 binned.
 */
export function createPatch(deps: EditDeps & { store: Pick<DocumentStore, 'update'> }) {
  return async (viewer: Viewer, reference: string, patch: DocumentMetadataPatch): Promise<Document> => {
    if (patch.name !== undefined) refuseUnreachableName(patch.name, ['body', 'name']);
    const changes = toChanges(patch);
    return edit(deps, { viewer, reference, preference: 'editable' }, (found) => {
      if (patch.access !== undefined && !canAdminister(viewer, found)) {
        throw forbidden('Only the owner and admins may change access');
      }
      return deps.store.update(viewer, found, changes);
    });
  };
}

/** Only the fields of the interface's patch; others that a body carries have no effect. */
function toChanges(patch: DocumentMetadataPatch): DocumentChanges {
  const { name, tags, categories, summary, access, slots, file_hash, file_size } = patch;
  return {
    ...(name === undefined ? {} : { name }),
    ...(tags === undefined ? {} : { tags }),
    ...(categories === undefined ? {} : { categories }),
    ...(summary === undefined ? {} : { summary }),
    ...(access === undefined ? {} : { access }),
    ...(slots === undefined ? {} : { slots }),
    ...(file_hash === undefined ? {} : { fileHash: file_hash }),
    ...(file_size === undefined ? {} : { fileSize: file_size }),
  };
}
