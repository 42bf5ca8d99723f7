import { Type } from '@sinclair/typebox';
import { forbidden } from '../core/errors.ts';
import { noContent, type Route, reply, route } from '../http/operation.ts';
import { withErrors } from '../http/schemas.ts';
import { type Document, renderDocument } from './document.ts';
import {
  ARCHIVE_EXAMPLE,
  DESCRIPTOR_EXAMPLE,
  DOCUMENT_EXAMPLE,
  DOWNLOAD_URL_EXAMPLE,
  METADATA_EXAMPLE,
  TRASH_EXAMPLE,
} from './examples.ts';
import { renderList, toListPage } from './lists.ts';
import type { createArchive } from './operations/archive.ts';
import type { createBin } from './operations/bin.ts';
import type { createConfirm } from './operations/confirm.ts';
import type { createDetail } from './operations/detail.ts';
import type { createDownload } from './operations/download.ts';
import type { createPatch } from './operations/patch.ts';
import type { createPresign } from './operations/presign.ts';
import type { createPurge } from './operations/purge.ts';
import type { createRestore } from './operations/restore.ts';
import { toViewer } from './policy.ts';
import * as schema from './schema.ts';
import type { DocumentStore } from './store.ts';

export type DocumentOperations = {
  presign: ReturnType<typeof createPresign>;
  confirm: ReturnType<typeof createConfirm>;
  download: ReturnType<typeof createDownload>;
  detail: ReturnType<typeof createDetail>;
  patch: ReturnType<typeof createPatch>;
  archive: ReturnType<typeof createArchive>;
  unarchive: ReturnType<typeof createArchive>;
  bin: ReturnType<typeof createBin>;
  restore: ReturnType<typeof createRestore>;
  purge: ReturnType<typeof createPurge>;
  lists: Pick<DocumentStore, 'listBin' | 'listArchive'>;
};

const READ = { area: 'documents', credential: 'api-key-header', scope: 'documents:read' } as const;
const WRITE = { area: 'documents', credential: 'api-key-header', scope: 'documents:write' } as const;
const documentAnswer = (description: string) => ({
  description,
  schema: schema.DocumentMetadataRead,
  example: DOCUMENT_EXAMPLE,
});
const removed = { 204: { description: 'Done; no content' } };

/** Area A of the interface, without its filter. */
export function documentRoutes(operations: DocumentOperations, bucket: string): Route[] {
  const answer = (status: number, document: Document): Response =>
    reply(status, renderDocument(document, bucket));

  return [
    route(
      {
        ...WRITE,
        id: 'documents.presign',
        method: 'GET',
        path: '/v1/{workspace_id}/presigned/url',
        summary: 'Get a pre-signed upload descriptor',
        description:
          'Post the file as multipart form data to `url`, with every entry of `fields`, the file last.',
        parameters: schema.InWorkspace,
        query: schema.ExpiresIn,
        responses: withErrors(
          {
            201: { description: 'Descriptor', schema: schema.UploadDescriptor, example: DESCRIPTOR_EXAMPLE },
          },
          [401, 403, 422, 503],
        ),
      },
      ({ path, query }) => reply(201, operations.presign(path.workspace_id, query.expires_in)),
    ),
    route(
      {
        ...WRITE,
        id: 'documents.confirm',
        method: 'POST',
        path: '/v1/{workspace_id}/upload/confirm',
        summary: 'Confirm an upload: save its metadata and move the file to its final key',
        description: 'Repeating a confirm answers the same record.',
        parameters: schema.InWorkspace,
        query: schema.NoQuery,
        body: schema.DocumentMetadataConfirm,
        bodyExample: {
          temp_key: DESCRIPTOR_EXAMPLE.fields.key,
          folder: 'manuals',
          document_metadata: METADATA_EXAMPLE,
        },
        responses: withErrors(
          { 201: documentAnswer('The document') },
          [401, 403, 404, 409, 413, 415, 422, 503],
        ),
      },
      async ({ principal, body }) => answer(201, await operations.confirm(principal, body)),
    ),
    route(
      {
        ...READ,
        id: 'documents.download',
        method: 'GET',
        path: '/v1/{workspace_id}/file/{file_id}/download/url',
        summary: 'Get a pre-signed download URL',
        parameters: schema.ByFileId,
        query: schema.ExpiresIn,
        responses: withErrors(
          { 200: { description: 'The URL', schema: Type.String(), example: DOWNLOAD_URL_EXAMPLE } },
          [401, 403, 404, 422, 503],
        ),
      },
      async ({ principal, path, query }) =>
        reply(200, await operations.download(toViewer(principal), path.file_id, query.expires_in)),
    ),
    ...binRoutes(operations, answer, bucket),
    ...metadataRoutes(operations, answer),
    ...archiveRoutes(operations, answer, bucket),
  ];
}

type Answer = (status: number, document: Document) => Response;

function binRoutes(operations: DocumentOperations, answer: Answer, bucket: string): Route[] {
  return [
    route(
      {
        ...WRITE,
        id: 'documents.bin',
        method: 'DELETE',
        path: '/v1/{workspace_id}/{file_id}',
        summary: 'Put a document into the bin',
        parameters: schema.ByFileId,
        query: schema.NoQuery,
        responses: withErrors(removed, [401, 403, 404, 422, 503]),
      },
      async ({ principal, path }) => {
        await operations.bin(toViewer(principal), path.file_id);
        return noContent();
      },
    ),
    route(
      {
        ...READ,
        id: 'documents.trash',
        method: 'GET',
        path: '/v1/{workspace_id}/trash',
        summary: "List the bin: the caller's own documents, newest first",
        parameters: schema.InWorkspace,
        query: schema.TrashQuery,
        responses: withErrors(
          { 200: { description: 'Binned documents', schema: schema.TrashList, example: TRASH_EXAMPLE } },
          [401, 403, 422, 503],
        ),
      },
      async ({ principal, query }) => {
        const viewer = toViewer(principal);
        if (query.all && !viewer.admin) throw forbidden("Only administrators see the whole workspace's bin");
        const listed = await operations.lists.listBin(viewer, { ...toListPage(query), all: query.all });
        return reply(200, renderList(listed, bucket, 'deleted_at'));
      },
    ),
    route(
      {
        ...WRITE,
        id: 'documents.purge',
        method: 'DELETE',
        path: '/v1/{workspace_id}/trash/{file_id}',
        summary: 'Delete a binned document permanently',
        parameters: schema.ByFileId,
        query: schema.NoQuery,
        responses: withErrors(removed, [401, 403, 404, 422, 503]),
      },
      async ({ principal, path }) => {
        await operations.purge.one(toViewer(principal), path.file_id);
        return noContent();
      },
    ),
    route(
      {
        ...WRITE,
        id: 'documents.restore',
        method: 'POST',
        path: '/v1/{workspace_id}/restore/{file_id}',
        summary: 'Take a document out of the bin',
        parameters: schema.ByFileId,
        query: schema.NoQuery,
        responses: withErrors({ 200: documentAnswer('The restored document') }, [401, 403, 404, 422, 503]),
      },
      async ({ principal, path }) => answer(200, await operations.restore(toViewer(principal), path.file_id)),
    ),
    route(
      {
        ...WRITE,
        id: 'documents.empty-trash',
        method: 'DELETE',
        path: '/v1/{workspace_id}/empty/trash',
        summary: "Delete every document in the caller's bin permanently",
        parameters: schema.InWorkspace,
        query: schema.NoQuery,
        responses: withErrors(removed, [401, 403, 422, 503]),
      },
      async ({ principal }) => {
        await operations.purge.own(toViewer(principal));
        return noContent();
      },
    ),
  ];
}

function metadataRoutes(operations: DocumentOperations, answer: Answer): Route[] {
  return [
    route(
      {
        ...READ,
        id: 'documents.detail',
        method: 'GET',
        path: '/v1/metadata/{workspace_id}/{document}/detail',
        summary: "Read a document's metadata, by id or name",
        parameters: schema.ByDocument,
        query: schema.NoQuery,
        responses: withErrors({ 200: documentAnswer('The document') }, [401, 403, 404, 422, 503]),
      },
      async ({ principal, path }) => answer(200, await operations.detail(toViewer(principal), path.document)),
    ),
    route(
      {
        ...WRITE,
        id: 'documents.patch',
        method: 'PUT',
        path: '/v1/metadata/{workspace_id}/{document}',
        summary: "Change a document's metadata, by id or name",
        description:
          'Fields that the body does not name stay as they are; null clears those that can be null.',
        parameters: schema.ByDocument,
        query: schema.NoQuery,
        body: schema.DocumentMetadataPatch,
        bodyExample: METADATA_EXAMPLE,
        responses: withErrors(
          { 200: documentAnswer('The changed document') },
          [401, 403, 404, 409, 413, 415, 422, 503],
        ),
      },
      async ({ principal, path, body }) =>
        answer(200, await operations.patch(toViewer(principal), path.document, body)),
    ),
  ];
}

function archiveRoutes(operations: DocumentOperations, answer: Answer, bucket: string): Route[] {
  return [
    route(
      {
        ...WRITE,
        id: 'documents.archive',
        method: 'POST',
        path: '/v1/metadata/{workspace_id}/archive/{file_name}',
        summary: 'Archive a document: it stays readable, but searches no longer find it',
        parameters: schema.ByFileName,
        query: schema.NoQuery,
        responses: withErrors(
          { 200: documentAnswer('The archived document') },
          [401, 403, 404, 409, 422, 503],
        ),
      },
      async ({ principal, path }) =>
        answer(200, await operations.archive(toViewer(principal), path.file_name)),
    ),
    route(
      {
        ...READ,
        id: 'documents.archived',
        method: 'GET',
        path: '/v1/metadata/{workspace_id}/archive/list',
        summary: 'List archived documents, the last archived first',
        parameters: schema.InWorkspace,
        query: schema.ArchiveQuery,
        responses: withErrors(
          {
            200: { description: 'Archived documents', schema: schema.ArchiveList, example: ARCHIVE_EXAMPLE },
          },
          [401, 403, 422, 503],
        ),
      },
      async ({ principal, query }) => {
        const listed = await operations.lists.listArchive(toViewer(principal), toListPage(query));
        return reply(200, renderList(listed, bucket, 'archived_at'));
      },
    ),
    route(
      {
        ...WRITE,
        id: 'documents.unarchive',
        method: 'POST',
        path: '/v1/metadata/{workspace_id}/un-archive/{file}',
        summary: 'Take a document out of the archive',
        parameters: schema.ByFile,
        query: schema.NoQuery,
        responses: withErrors(
          { 200: documentAnswer('The un-archived document') },
          [401, 403, 404, 409, 422, 503],
        ),
      },
      async ({ principal, path }) => answer(200, await operations.unarchive(toViewer(principal), path.file)),
    ),
  ];
}
