// The shapes of Area A, as the interface names them.

import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { pageOf } from '../http/paging.ts';
import { Parsed } from '../http/parsed.ts';
import { component, integer, moment, nullable, oneOf, optional, text } from '../http/schemas.ts';
import { INLINE_TYPES, parseContentType } from './content-type.ts';
import {
  EXPIRES_IN_SECONDS_DEFAULT,
  EXPIRES_IN_SECONDS_MAX,
  LIST_LIMIT_MAX,
  NAME_LENGTH_MAX,
  TAG_LENGTH_MAX,
} from './limits.ts';

const STATUS_WORDS = [Type.Literal('public'), Type.Literal('private'), Type.Literal('deleted')];
const StatusEnum = Type.Union(STATUS_WORDS, {
  $id: 'StatusEnum',
  description: 'The visibility of a document; `deleted`: it is in the bin.',
});

const Name = Type.String({
  minLength: 1,
  maxLength: NAME_LENGTH_MAX,
  description: 'File name including extension.',
});
const Labels = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: TAG_LENGTH_MAX }), { description });
const Slots = Type.Record(Type.String(), Type.Unknown(), { description: 'Free-form extra metadata.' });
const AccessRules = Type.Object(
  { curators: Type.Optional(Type.Array(Type.String({ format: 'email' }))) },
  {
    dictionary: true,
    additionalProperties: true,
    description: 'Who may edit the document besides its owner.',
  },
);
const Size = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Size in bytes.' });

export const DocumentMetadataRead = component('DocumentMetadataRead', 'The metadata of a document.', {
  id: Type.String({ format: 'uuid', description: 'Unique identifier of the file.' }),
  owner_id: text('Identifier of the user who uploaded the file.'),
  name: text('File name including extension.'),
  storage_url: text('Object-store location of the file.'),
  created_at: moment('When the upload was confirmed.'),
  file_size: nullable(Size),
  file_type: nullable(text('File extension.')),
  tags: nullable(Type.Array(Type.String()), 'Tags of the file.'),
  categories: nullable(Type.Array(Type.String()), 'Categories of the file.'),
  status: StatusEnum,
  file_hash: nullable(text('MD5 hash of the content.')),
  summary: nullable(Type.String(), 'Summary of the content.'),
  access: nullable(
    Type.Record(Type.String(), Type.Unknown()),
    'Who may read and edit the document besides its owner: `curators` lists their e-mail addresses.',
  ),
  slots: nullable(Type.Record(Type.String(), Type.Unknown()), 'Free-form extra metadata.'),
});

const DocumentMetadataCreate = component('DocumentMetadataCreate', 'The metadata of a new document.', {
  name: Name,
  tags: optional(Labels('Tags of the file.')),
  categories: optional(Labels('Categories of the file.')),
  summary: optional(text('Summary of the content.')),
  slots: optional(Slots),
  access: optional(AccessRules),
  owner_id: optional(
    Type.String({ format: 'uuid', description: "Another user's, from administrators only." }),
  ),
  status: optional(StatusEnum),
  storage_url: optional(text('Ignored: the store decides.')),
  created_at: optional(moment('Ignored.')),
  file_size: optional(integer('Ignored: the store decides.')),
  file_type: optional(text('Ignored: the name decides.')),
  file_hash: optional(text('Ignored: the store decides.')),
});
export type DocumentMetadataCreate = Static<typeof DocumentMetadataCreate>;

export const DocumentMetadataConfirm = component(
  'DocumentMetadataConfirm',
  'An upload that is to become a document.',
  {
    temp_key: text('Temporary object key from the upload step.'),
    folder: optional(text('Folder for the file.')),
    reading: optional(
      oneOf(['on', 'off'], {
        description: '`off`: nothing of the file is read, and its text is not kept. It can be changed later.',
      }),
    ),
    document_metadata: DocumentMetadataCreate,
  },
);
export type DocumentMetadataConfirm = Static<typeof DocumentMetadataConfirm>;

export const DocumentMetadataPatch = component(
  'DocumentMetadataPatch',
  'Changes to the metadata of a document.',
  {
    name: Type.Optional(Name),
    tags: optional(Labels('Tags of the file.')),
    categories: optional(Labels('Categories of the file.')),
    access: optional(AccessRules),
    slots: optional(Slots),
    file_hash: optional(text('MD5 hash of the content.')),
    file_size: optional(Size),
    summary: optional(text('Summary of the content.')),
    status: Type.Optional(
      Type.Union(STATUS_WORDS, {
        description:
          '`public` or `private`, from owner and administrators; a document is binned by its DELETE.',
      }),
    ),
    owner_id: Type.Optional(
      Type.String({ format: 'uuid', description: "Another user's, from administrators only." }),
    ),
  },
);
export type DocumentMetadataPatch = Static<typeof DocumentMetadataPatch>;

export const UploadDescriptor = component('UploadDescriptor', 'How to post a file to the object store.', {
  url: text('Object-store bucket URL to post the file to.'),
  fields: Type.Object(
    {
      key: text('The temporary key where the upload lands.'),
      StorageAccessKeyId: text('Whose signature it is.'),
      policy: text('What may be uploaded, in base64.'),
      signature: text('The signature of the policy.'),
    },
    { additionalProperties: Type.String(), description: 'Send every entry as a form field, then the file.' },
  ),
});

const listOf = (item: TSchema, $id: string, description: string) =>
  component($id, description, {
    items: Type.Array(item, { description: 'The documents of this page.' }),
    count: Type.Integer({ minimum: 0, description: 'Rows in all, on this page or not.' }),
    next_cursor: Type.Optional(text('Present when there are more rows.')),
  });

const BinnedDocument = component('BinnedDocument', 'A document in the bin.', {
  ...DocumentMetadataRead.properties,
  deleted_at: moment('When it was put into the bin.'),
});
export const TrashList = listOf(BinnedDocument, 'TrashList', 'Documents in the bin.');

const ArchivedDocument = component('ArchivedDocument', 'A document in the archive.', {
  ...DocumentMetadataRead.properties,
  archived_at: moment('When it was archived.'),
});
export const ArchiveList = listOf(ArchivedDocument, 'ArchiveList', 'Documents in the archive.');

const Folder = component('Folder', 'A folder of the library.', {
  name: text('Its name within the folder above.'),
  path: text('Its name from the top, as uploads give it.'),
  storage_url: text('What the `storage_url` of each document in it or below it begins with.'),
});
export const FolderList = pageOf(Folder, 'FolderList');

const Workspace = { workspace_id: text("The workspace of the caller's API key.") };
export const InWorkspace = Type.Object(Workspace);
export const ByFileId = Type.Object({ ...Workspace, file_id: text('Unique identifier of the file.') });
export const ByDocument = Type.Object({ ...Workspace, document: text('Id or name of the document.') });
export const ByFileName = Type.Object({ ...Workspace, file_name: text('Name of the file.') });
export const ByFile = Type.Object({ ...Workspace, file: text('Name of the file.') });

const expiresIn = {
  expires_in: Type.Integer({
    minimum: 1,
    maximum: EXPIRES_IN_SECONDS_MAX,
    default: EXPIRES_IN_SECONDS_DEFAULT,
    description: 'Lifetime in seconds.',
  }),
};
export const PresignQuery = Type.Object({
  ...expiresIn,
  content_type: Type.Optional(
    Parsed(parseContentType, {
      description: 'Content type that the file is kept with; without it the extension of its name decides.',
    }),
  ),
});
export const DownloadQuery = Type.Object({
  ...expiresIn,
  disposition: oneOf(['attachment', 'inline'], {
    default: 'attachment',
    description: `attachment: browsers save it under its name; inline: they show it, for ${INLINE_TYPES.join(', ')}.`,
  }),
});
const listQuery = {
  limit: Type.Integer({
    minimum: 1,
    maximum: LIST_LIMIT_MAX,
    default: LIST_LIMIT_MAX,
    description: 'Rows a page.',
  }),
  cursor: Type.Optional(text('`next_cursor` of the page before.')),
};
export const ArchiveQuery = Type.Object(listQuery);
export const FolderQuery = Type.Object({
  ...listQuery,
  parent: Type.String({
    default: '',
    description: 'The folder whose folders are listed; blank: the uppermost.',
  }),
});
export const TrashQuery = Type.Object({
  ...listQuery,
  all: Type.Boolean({ default: false, description: "The whole workspace's bin; administrators only." }),
});
