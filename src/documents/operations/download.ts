import type { Clock } from '../../core/clock.ts';
import { valueError } from '../../core/errors.ts';
import type { Presigner } from '../../infra/s3/presign.ts';
import { INLINE_TYPES, inlineTypeOf } from '../content-type.ts';
import type { Located } from '../document.ts';
import { contentTypeOf } from '../objects.ts';
import { canSee, documentNotFound, parseDocumentId, type Viewer } from '../policy.ts';
import type { DocumentCache } from '../store.ts';

export type DownloadOptions = { expiresInSeconds: number; disposition: 'attachment' | 'inline' };

/**
 * A URL that downloads the document's file until it expires, or shows it in a browser. Throws 404 for what the viewer
 * can't see, 422 for a file that is not to be shown.
 */
export function createDownload(deps: { documents: DocumentCache; presigner: Presigner; clock: Clock }) {
  const { documents, presigner, clock } = deps;
  return async (viewer: Viewer, fileId: string, options: DownloadOptions): Promise<string> => {
    const id = parseDocumentId(fileId);
    const document = documents.getNow(id) ?? (await documents.get(id));
    if (document === undefined || !canSee(viewer, document)) throw documentNotFound();
    return presigner.downloadUrl({
      key: document.objectKey,
      fileName: document.name,
      inline: options.disposition === 'inline' ? { contentType: shownAs(document) } : undefined,
      expiresInSeconds: options.expiresInSeconds,
      now: clock.now(),
    });
  };
}

function shownAs({ contentType, fileType }: Located): string {
  const type = contentTypeOf(contentType ?? '', fileType);
  const shown = inlineTypeOf(type);
  if (shown !== undefined) return shown;
  const reason = `a file of the type ${type} is not shown, only downloaded; shown are ${INLINE_TYPES.join(', ')}`;
  throw valueError(['query', 'disposition'], reason, 'inline');
}
