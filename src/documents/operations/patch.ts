import { forbidden, valueError } from '../../core/errors.ts';
import type { Document, DocumentChanges } from '../document.ts';
import { refuseUnreachableName } from '../name.ts';
import { canAdminister, type Viewer } from '../policy.ts';
import type { DocumentMetadataPatch } from '../schema.ts';
import type { DocumentStore } from '../store.ts';
import { type EditDeps, edit } from './editing.ts';
import { assertMayOwn, type FindUser } from './owner.ts';

/** What only owner and administrators may change. */
const ADMINISTERED = ['access', 'status'] as const;

/**
 * Sets the given metadata fields of a document and leaves the others.
 * Throws 404 unseen, 403 for viewers who may not edit it (or not its `access`, `status` or owner), 409 binned, 422 for
 * the status `deleted` and for an owner who is unknown to the workspace.
 */
export function createPatch(deps: EditDeps & { store: Pick<DocumentStore, 'update'>; findUser: FindUser }) {
  return async (viewer: Viewer, reference: string, patch: DocumentMetadataPatch): Promise<Document> => {
    if (patch.name !== undefined) refuseUnreachableName(patch.name, ['body', 'name']);
    const changes = toChanges(patch);
    return edit(deps, { viewer, reference, preference: 'editable' }, async (found) => {
      const administered = ADMINISTERED.find((field) => patch[field] !== undefined);
      if (administered !== undefined && !canAdminister(viewer, found)) {
        throw forbidden(`Only the owner and admins may change ${administered}`);
      }
      if (changes.ownerId !== undefined && changes.ownerId !== found.ownerId) {
        await assertMayOwn(deps.findUser, viewer, { userId: changes.ownerId, loc: ['body', 'owner_id'] });
      }
      return deps.store.update(viewer, found, changes);
    });
  };
}

/** Only the fields of a patch; others that a body carries have no effect. */
function toChanges(patch: DocumentMetadataPatch): DocumentChanges {
  const { name, tags, categories, summary, access, slots, file_hash, file_size, status, owner_id } = patch;
  if (status === 'deleted') {
    throw valueError(['body', 'status'], "a patch can't bin a document; DELETE it instead", status);
  }
  return {
    ...(name === undefined ? {} : { name }),
    ...(tags === undefined ? {} : { tags }),
    ...(categories === undefined ? {} : { categories }),
    ...(summary === undefined ? {} : { summary }),
    ...(access === undefined ? {} : { access }),
    ...(slots === undefined ? {} : { slots }),
    ...(file_hash === undefined ? {} : { fileHash: file_hash }),
    ...(file_size === undefined ? {} : { fileSize: file_size }),
    ...(status === undefined ? {} : { status }),
    ...(owner_id === undefined ? {} : { ownerId: owner_id.toLowerCase() }),
  };
}
