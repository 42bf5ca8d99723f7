// A document, as the interface shows it and as changes of it are.

import { toEmailKey } from '../core/email.ts';
import { valueError } from '../core/errors.ts';

/** The words of the interface's StatusEnum. */
type Status = 'public' | 'private' | 'deleted';

/** `access` of a document: free-form, with the known key `curators`. */
export type Access = { curators?: string[] } & Record<string, unknown>;

export type Document = {
  id: string;
  workspaceId: string;
  uploadId: string;
  ownerId: string;
  name: string;
  objectKey: string;
  createdAt: Date;
  fileSize: number | null;
  fileType: string | null;
  fileHash: string | null;
  tags: string[] | null;
  categories: string[] | null;
  summary: string | null;
  access: Access | null;
  slots: Record<string, unknown> | null;
  /** E-mails of `access.curators`, trimmed and lower-cased. */
  curators: string[];
  status: Status;
  deletedAt: Date | null;
  archivedAt: Date | null;
};

/** Fields that a patch may set; an absent one stays as it is. */
export type DocumentChanges = Partial<
  Pick<Document, 'name' | 'tags' | 'categories' | 'summary' | 'access' | 'slots'> &
    Pick<Document, 'fileHash' | 'fileSize' | 'ownerId'> & { status: 'public' | 'private' }
>;

/** The fields of a patch that have another value than before. */
export const changedNames = (before: Document, changes: DocumentChanges): (keyof DocumentChanges)[] =>
  (Object.keys(changes) as (keyof DocumentChanges)[]).filter(
    (name) => !Bun.deepEquals(before[name], changes[name]),
  );

/** The fields that have a value, null included. */
export const given = <Fields extends object>(fields: Fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Fields]?: Exclude<Fields[Name], undefined>;
  };

/** What permission checks and download URLs need of a document: little, where its metadata may be a megabyte. */
export type Located = Pick<
  Document,
  'id' | 'workspaceId' | 'ownerId' | 'name' | 'objectKey' | 'fileType' | 'curators' | 'status'
> & {
  /** What its object is stored as; null where that was not kept. */
  contentType: string | null;
};

/** What is shown of a document. */
export type ShownDocument = Omit<
  Document,
  'workspaceId' | 'uploadId' | 'curators' | 'deletedAt' | 'archivedAt'
>;

/** The interface's DocumentMetadataRead of a document whose object is in the bucket. */
export const renderDocument = (bucket: string, document: ShownDocument) => ({
  id: document.id,
  owner_id: document.ownerId,
  name: document.name,
  storage_url: `s3://${bucket}/${document.objectKey}`,
  created_at: document.createdAt.toISOString(),
  file_size: document.fileSize,
  file_type: document.fileType,
  tags: document.tags,
  categories: document.categories,
  status: document.status,
  file_hash: document.fileHash,
  summary: document.summary,
  access: document.access,
  slots: document.slots,
});

/** The e-mails that `access` makes curators, as permission checks compare them. */
export const curatorsOf = (access: Access | null | undefined): string[] => [
  ...new Set((access?.curators ?? []).map((email) => toEmailKey(email.trim()))),
];

/** URLs can't hold `.` or `..` as a segment, so no request could name such a document: 422. */
export function refuseUnreachableName(name: string, loc: string[]): void {
  if (name === '.' || name === '..') throw valueError(loc, `a document can't be named '${name}'`, name);
}
