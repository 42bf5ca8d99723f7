import { newId, newRandomId } from '../../src/core/ids.ts';
import type { Viewer } from '../../src/documents/policy.ts';
import type { NewDocument } from '../../src/documents/store.ts';

/** A private text of one byte, as a confirm inserts it. */
export function newDocument(owner: Viewer, differences: Partial<NewDocument> = {}): NewDocument {
  const id = differences.id ?? newId();
  return {
    id,
    workspaceId: owner.workspaceId,
    uploadId: newRandomId(),
    uploadObject: '',
    ownerId: owner.userId,
    name: 'a.txt',
    objectKey: `${owner.workspaceId}/${id}.txt`,
    contentType: 'text/plain',
    fileSize: 1,
    fileType: 'txt',
    fileHash: null,
    tags: null,
    categories: null,
    summary: null,
    access: null,
    slots: null,
    status: 'private',
    ...differences,
  };
}
