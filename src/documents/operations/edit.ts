// Changes to a document that an id or a name means: its metadata, and whether it is archived.

import type { Author } from '../../core/author.ts';
import { conflict, forbidden, valueError } from '../../core/errors.ts';
import { type Document, type DocumentChanges, given, refuseUnreachableName } from '../document.ts';
import { assertEditable, assertMayOwn, canAdminister, type FindUser, type Viewer } from '../policy.ts';
import type { Preference } from '../rows.ts';
import type { DocumentMetadataPatch } from '../schema.ts';
import type { DocumentCache, DocumentStore, Found } from '../store.ts';

/** Of many who change one document at once, one succeeds at each attempt. */
const ATTEMPTS_MAX = 100;
/** From the third attempt on they keep out of each other's way. */
const PAUSE_MS_MAX = 20;

/** What only owner and administrators may change. */
const ADMINISTERED = ['access', 'status'] as const;

export type Edit = ReturnType<typeof createEdit>;

export function createEdit(deps: { store: DocumentStore; documents: DocumentCache; findUser: FindUser }) {
  const { store, documents, findUser } = deps;

  /**
   * Finds the document that a reference means to the viewer, checks that it may be edited, and lets `write` change
   * it under the same conditions. One that was binned, purged or taken from the viewer in between is looked up
   * again, which shows why or finds a namesake. Throws 404 unseen, 403 not theirs to edit, 409 binned.
   */
  const edit = async (
    viewer: Viewer,
    reference: string,
    preference: Preference,
    write: (document: Found) => Promise<Document | undefined>,
  ): Promise<Document> => {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      if (attempt > 1) await Bun.sleep(Math.random() * PAUSE_MS_MAX);
      const found = await store.find(viewer, reference, preference);
      assertEditable(viewer, found);
      const updated = await write(found);
      documents.drop(found.id);
      if (updated !== undefined) return updated;
    }
    throw conflict('The document keeps changing; try again');
  };

  return {
    /**
     * Sets the given metadata fields of a document and leaves the others. Throws as `edit` does, 403 for viewers who
     * may not change its `access`, `status` or owner, 422 for the status `deleted` and for an owner who is unknown to
     * the workspace.
     */
    async patch(
      viewer: Viewer,
      reference: string,
      patch: DocumentMetadataPatch,
      author: Author,
    ): Promise<Document> {
      if (patch.name !== undefined) refuseUnreachableName(patch.name, ['body', 'name']);
      const changes = toChanges(patch);
      return edit(viewer, reference, 'editable', async (found) => {
        const administered = ADMINISTERED.find((field) => patch[field] !== undefined);
        if (administered !== undefined && !canAdminister(viewer, found))
          throw forbidden(`Only the owner and admins may change ${administered}`);
        if (changes.ownerId !== undefined && changes.ownerId !== found.ownerId)
          await assertMayOwn(findUser, viewer, { userId: changes.ownerId, loc: ['body', 'owner_id'] });
        return store.update(viewer, found, changes, author);
      });
    },

    /** Archives or un-archives it; status stays. Repeating it changes nothing. Throws as `edit` does. */
    setArchived: (viewer: Viewer, reference: string, archived: boolean, author: Author): Promise<Document> =>
      edit(viewer, reference, archived ? 'to-archive' : 'to-unarchive', (found) =>
        store.setArchived(viewer, found, archived, author),
      ),
  };
}

/** Only the fields of a patch; others that a body carries have no effect. */
function toChanges(patch: DocumentMetadataPatch): DocumentChanges {
  const { name, tags, categories, summary, access, slots, file_hash, file_size, status, owner_id } = patch;
  if (status === 'deleted')
    throw valueError(['body', 'status'], "a patch can't bin a document; DELETE it instead", status);
  return given({
    name,
    tags,
    categories,
    summary,
    access,
    slots,
    status,
    fileHash: file_hash,
    fileSize: file_size,
    ownerId: owner_id?.toLowerCase(),
  });
}
