import type { Clock } from '../../core/clock.ts';
import { isUuid } from '../../core/ids.ts';
import type { Presigner } from '../../infra/s3/presign.ts';
import type { Located } from '../document.ts';
import { canSee, documentNotFound, type Viewer } from '../policy.ts';

/** Documents by id, from a cache that changes empty at once where it can. */
export type DocumentLookup = {
  getNow(id: string): Located | undefined;
  get(id: string): Located | undefined | Promise<Located | undefined>;
};

/** A URL that downloads the document's file until it expires. Throws 404 for what the viewer can't see. */
export function createDownload({
  documents,
  presigner,
  clock,
}: {
  documents: DocumentLookup;
  presigner: Presigner;
  clock: Clock;
}) {
  return async (viewer: Viewer, fileId: string, expiresInSeconds: number): Promise<string> => {
    if (!isUuid(fileId)) throw documentNotFound();
    const id = fileId.toLowerCase();
    const document = documents.getNow(id) ?? (await documents.get(id));
    if (document === undefined || !canSee(viewer, document)) throw documentNotFound();
    return presigner.downloadUrl({
      key: document.objectKey,
      fileName: document.name,
      expiresInSeconds,
      now: clock.now(),
    });
  };
}
