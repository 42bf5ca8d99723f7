// Step 3 of an upload: the temporary object becomes a document. Safe when repeated, raced, or cut off anywhere:
// the outcome is one record with one object, or neither once the sweeper has passed. What is confirmed is the object
// that was posted, not its key: one posted later with the same form makes another document.

import { conflict, forbidden, notFound, tooLarge, unavailable, valueError } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { Principal } from '../../core/principal.ts';
import type { ObjectStore, Removal, StoredObject } from '../../infra/s3/client.ts';
import { type Document, refuseUnreachableName } from '../document.ts';
import { CONFIRM_ATTEMPTS_MAX } from '../limits.ts';
import { contentTypeOf, extensionOf, parseFolder, parseTemporaryKey, toObjectKey } from '../objects.ts';
import { assertMayOwn, canSee, type FindUser, toViewer } from '../policy.ts';
import type { DocumentMetadataConfirm, DocumentMetadataCreate } from '../schema.ts';
import type { DocumentStore, NewDocument } from '../store.ts';

export type ConfirmDeps = {
  store: Pick<DocumentStore, 'insert' | 'findByUpload'>;
  objects: Pick<ObjectStore, 'head' | 'copy' | 'removeUnchanged'>;
  /** Deletes objects that are not needed any more, soon after the answer; what it fails to delete is swept. */
  discard(removal: Removal): void;
  /** Each is told that a document was confirmed. */
  onRecorded: readonly (() => void)[];
  findUser: FindUser;
  uploadBytesMax: number;
};

type Upload = { workspaceId: string; uploadId: string; key: string };

export function createConfirm(deps: ConfirmDeps) {
  const { store, objects, discard } = deps;

  return async (principal: Principal, request: DocumentMetadataConfirm): Promise<Document> => {
    // 1. Everything that can be refused without asking anyone is refused before anything is touched.
    const { workspaceId } = principal;
    const folder = parseFolder(request.folder);
    const reading = request.reading ?? 'on';
    const metadata = request.document_metadata;
    const ownerId = await ownerOf(principal, metadata);
    const status = statusOf(metadata);
    refuseUnreachableName(metadata.name, ['body', 'document_metadata', 'name']);
    const parsed = parseTemporaryKey(request.temp_key, workspaceId);
    if (parsed === 'foreign') throw forbidden('The temporary key belongs to another workspace');
    if (parsed === undefined) throw uploadNotFound();
    const upload = { workspaceId, uploadId: parsed.uploadId, key: request.temp_key };

    for (let attempt = 0; attempt < CONFIRM_ATTEMPTS_MAX; attempt++) {
      // 2. Size and hash are the store's own. No object: the upload may have been confirmed before.
      const stored = await objects.head(upload.key);
      if (stored === undefined) return confirmedBefore(principal, upload);
      if (stored.size > deps.uploadBytesMax)
        throw tooLarge(`The upload is larger than ${deps.uploadBytesMax} bytes`);

      // 3. The copy is made under a key of its own, and only of what step 2 saw. Killed after it: an orphan
      //    without a record, which the sweeper removes; the temporary object is still there to confirm again.
      const document = toDocument({ upload, folder, metadata, ownerId, status, stored, reading });
      const { objectKey, contentType, uploadObject } = document;
      const outcome = await objects.copy({ from: upload.key, to: objectKey, source: stored, contentType });
      if (outcome === 'refused')
        throw valueError(['body', 'folder'], 'the object store refuses it', request.folder);
      if (outcome !== 'copied') {
        // Versity may have written a copy before it finds that the source is gone.
        discard({ key: objectKey });
        // A confirm of the same object may have been quicker, and another file may have been posted since.
        const kept = await store.findByUpload({ workspaceId, uploadId: upload.uploadId, uploadObject });
        if (kept !== undefined) return visibleTo(principal, kept);
        if (outcome === 'missing') return confirmedBefore(principal, upload);
        continue;
      }

      // 4. The record makes it a document. Of two at once one inserts, the other gets the first one's record.
      //    When the answer is lost the copy stays: it may be the document's; the sweeper can tell. If the copy is old by
      //    now, the sweeper may have decided to delete it: then there is no record.
      const kept = await store.insert(document);
      if (kept === undefined) {
        discard({ key: objectKey });
        throw unavailable('The upload could not be confirmed in time');
      }
      for (const tell of deps.onRecorded) tell();
      const first = kept.id === document.id;
      if (!first) discard({ key: objectKey });

      // 5. The temporary object has served. Killed before it is gone: the sweeper removes it.
      await retire(upload, stored, first);
      return visibleTo(principal, kept);
    }
    throw conflict('The upload is being replaced while it is confirmed; try again');
  };

  /**
   * Deletes the temporary object, and nothing that was posted after it. A version names it exactly, so the answer need not
   * wait; without one it is gone before the answer, because after it the form may be used again.
   */
  async function retire(upload: Upload, stored: StoredObject, first: boolean): Promise<void> {
    if (stored.version !== undefined) return discard({ key: upload.key, version: stored.version });
    // What it loses is swept.
    if (first) await objects.removeUnchanged(upload.key, stored.etag).catch(() => undefined);
  }

  async function confirmedBefore(principal: Principal, upload: Upload): Promise<Document> {
    const document = await store.findByUpload(upload);
    if (document === undefined) throw uploadNotFound();
    return visibleTo(principal, document);
  }

  async function ownerOf(principal: Principal, metadata: DocumentMetadataCreate): Promise<string> {
    const userId = metadata.owner_id?.toLowerCase() ?? principal.userId;
    const loc = ['body', 'document_metadata', 'owner_id'];
    if (userId !== principal.userId) await assertMayOwn(deps.findUser, toViewer(principal), { userId, loc });
    return userId;
  }
}

const uploadNotFound = () => notFound('No upload was found under this temporary key');

/** Knowing a temporary key does not open somebody else's private document. */
function visibleTo(principal: Principal, document: Document): Document {
  if (!canSee(toViewer(principal), document)) throw uploadNotFound();
  return document;
}

function statusOf(metadata: DocumentMetadataCreate): 'public' | 'private' {
  if (metadata.status === 'deleted') {
    const loc = ['body', 'document_metadata', 'status'];
    throw valueError(loc, "a document can't be created as 'deleted'", metadata.status);
  }
  return metadata.status ?? 'private';
}

function toDocument(parts: {
  upload: Upload;
  folder: string;
  metadata: DocumentMetadataCreate;
  ownerId: string;
  status: 'public' | 'private';
  stored: StoredObject;
  reading: 'on' | 'off';
}): NewDocument {
  const { upload, folder, metadata, ownerId, status, stored, reading } = parts;
  const id = newId();
  const fileType = extensionOf(metadata.name);
  return {
    id,
    workspaceId: upload.workspaceId,
    uploadId: upload.uploadId,
    uploadObject: identityOf(stored),
    ownerId,
    name: metadata.name,
    objectKey: toObjectKey({ workspaceId: upload.workspaceId, folder, id, fileType }),
    contentType: contentTypeOf(stored.contentType, fileType),
    fileSize: stored.size,
    fileType,
    fileHash: md5Of(stored.etag),
    tags: metadata.tags ?? null,
    categories: metadata.categories ?? null,
    summary: metadata.summary ?? null,
    access: metadata.access ?? null,
    slots: metadata.slots ?? null,
    status,
    reading,
  };
}

/** What tells an uploaded object from every other under its key. */
const identityOf = ({ etag, modifiedAt, version }: StoredObject): string =>
  [etag, modifiedAt.toISOString(), version ?? ''].join(' ');

/** The ETag of an object that was stored in one piece is its MD5; encrypted stores answer something else. */
const md5Of = (etag: string): string | null => /^"?([0-9a-f]{32})"?$/i.exec(etag)?.[1]?.toLowerCase() ?? null;
