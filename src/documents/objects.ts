// Objects in the bucket: their keys, which are `temp/<workspace>/<uuid>` for uploads and `<workspace>/<folder>/<uuid>.<ext>` for
// documents, and the media types that they are stored as.

import mime from 'mime';
import { valueError } from '../core/errors.ts';
import { isUuid } from '../core/ids.ts';
import { FOLDER_BYTES_MAX } from './limits.ts';

const TEMPORARY = 'temp/';

/** Below it stand the marks of the databases that use the bucket; see jobs/custody.ts. */
export const MARKS = '.atrium/';

export const toTemporaryKey = (workspaceId: string, uploadId: string): string =>
  `${TEMPORARY}${workspaceId}/${uploadId}`;

/**
 * The upload that a temporary key of this workspace names: `undefined` when it can't be one of ours,
 * `foreign` when it lies outside the workspace's own uploads.
 */
export function parseTemporaryKey(
  key: string,
  workspaceId: string,
): { uploadId: string } | 'foreign' | undefined {
  const prefix = `${TEMPORARY}${workspaceId}/`;
  if (!key.startsWith(prefix)) return 'foreign';
  const uploadId = key.slice(prefix.length);
  return isUuid(uploadId) && uploadId === uploadId.toLowerCase() ? { uploadId } : undefined;
}

/** The name's last suffix, lower-cased, where it is one (`[a-z0-9]{1,16}`). */
export const extensionOf = (name: string): string | null =>
  /\.([a-z0-9]{1,16})$/i.exec(name)?.[1]?.toLowerCase() ?? null;

/**
 * What a form says where its user has said nothing: S3's own word for that. Left out, each store would call the file
 * something else.
 */
export const UNTOLD_TYPE = 'binary/octet-stream';

/** The media type of a confirmed file: that of its upload form, else that of the extension, else `application/octet-stream`. */
export function contentTypeOf(told: string, extension: string | null): string {
  if (told !== '' && told !== UNTOLD_TYPE) return told;
  return (extension === null ? null : mime.getType(extension)) ?? 'application/octet-stream';
}

export function toObjectKey(parts: {
  workspaceId: string;
  folder: string;
  id: string;
  fileType: string | null;
}): string {
  const { workspaceId, folder, id, fileType } = parts;
  return `${workspaceId}/${folder === '' ? '' : `${folder}/`}${id}${fileType === null ? '' : `.${fileType}`}`;
}

/** The kind of a key in the bucket: an upload, a document's object, or a foreign key. */
export function classifyKey(
  key: string,
): { kind: 'upload' } | { kind: 'document'; id: string } | { kind: 'foreign' } {
  if (key.startsWith(TEMPORARY)) return { kind: 'upload' };
  const id = /\/([0-9a-f-]{36})(?:\.[a-z0-9]{1,16})?$/.exec(key)?.[1];
  return id !== undefined && isUuid(id) ? { kind: 'document', id } : { kind: 'foreign' };
}

/**
 * Control characters, and the two that XML 1.0 (section 2.2) cannot hold: S3 names the objects of a multi-delete in
 * XML, and one such key would make the store refuse the whole of it.
 */
const UNFIT = /[\p{Cc}\u{FFFE}\u{FFFF}]/u;

/**
 * A folder in its canonical form: outer slashes dropped, repeated ones collapsed, none is `''`.
 * Throws 422 at `loc` for a `.` or `..` segment, a character that has no place in a key, or more than 512 bytes.
 */
export function parseFolder(folder: string | null | undefined, loc = ['body', 'folder']): string {
  const segments = (folder ?? '').split('/').filter((segment) => segment !== '');
  const canonical = segments.join('/');
  if (segments.some((segment) => segment === '.' || segment === '..'))
    throw valueError(loc, "a folder has no segment '.' or '..'", folder);
  if (UNFIT.test(canonical)) throw valueError(loc, 'a folder has no control characters', folder);
  if (Buffer.byteLength(canonical) > FOLDER_BYTES_MAX)
    throw valueError(loc, `a folder has at most ${FOLDER_BYTES_MAX} bytes`, folder);
  return canonical;
}
