import { isUuid } from '../../core/ids.ts';
import { type Route, route } from '../../http/operation.ts';
import { toPageRequest } from '../../http/paging.ts';
import { ARCHIVE_EXAMPLE, METADATA_EXAMPLE } from '../examples.ts';
import type { Edit } from '../operations/edit.ts';
import { documentNotFound, toViewer } from '../policy.ts';
import * as schema from '../schema.ts';
import type { DocumentStore } from '../store.ts';
import { documentAnswer, READ, type Render, renderList, WRITE } from './answers.ts';

/** One document's metadata, and the archive: documents that stay readable, but that searches no longer find. */
export function metadataRoutes(deps: {
  edit: Edit;
  store: Pick<DocumentStore, 'find' | 'listArchive'>;
  render: Render;
}): Route[] {
  const { edit, store, render } = deps;
  return [
    route(
      {
        ...READ,
        id: 'documents.detail',
        method: 'GET',
        path: '/v1/metadata/{workspace_id}/{document}/detail',
        summary: "Read a document's metadata, by id or name",
        parameters: schema.ByDocument,
        responses: { 200: documentAnswer('The document.') },
        refusals: [404],
      },
      async ({ principal, path }) => {
        const document = await store.find(toViewer(principal), path.document, 'live');
        if (document === undefined) throw documentNotFound();
        return render(document);
      },
    ),
    route(
      {
        ...WRITE,
        id: 'documents.patch',
        notesAddress: true,
        method: 'PUT',
        path: '/v1/metadata/{workspace_id}/{document}',
        summary: "Change a document's metadata, by id or name",
        description:
          'Fields that the body does not name stay as they are; null clears those that can be null. Owner, curators and ' +
          'administrators may change a document, its `access` and `status` only owner and administrators, its `owner_id` ' +
          'only administrators.',
        parameters: schema.ByDocument,
        body: schema.DocumentMetadataPatch,
        bodyExample: METADATA_EXAMPLE,
        responses: { 200: documentAnswer('The changed document.') },
        refusals: [404, 409],
      },
      async ({ principal, author, path, body }) =>
        render(await edit.patch(toViewer(principal), path.document, body, author)),
    ),
    route(
      {
        ...WRITE,
        id: 'documents.archive',
        notesAddress: true,
        method: 'POST',
        path: '/v1/metadata/{workspace_id}/archive/{file_name}',
        summary: 'Archive a document: it stays readable, but searches no longer find it',
        parameters: schema.ByFileName,
        responses: { 200: documentAnswer('The archived document.') },
        refusals: [404, 409],
      },
      async ({ principal, author, path }) =>
        render(await edit.setArchived(toViewer(principal), path.file_name, true, author)),
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
        responses: {
          200: { description: 'Archived documents.', schema: schema.ArchiveList, example: ARCHIVE_EXAMPLE },
        },
      },
      async ({ principal, query }) => {
        const page = toPageRequest(query, isUuid);
        return renderList(await store.listArchive(toViewer(principal), page), 'archived_at', render);
      },
    ),
    route(
      {
        ...WRITE,
        id: 'documents.unarchive',
        notesAddress: true,
        method: 'POST',
        path: '/v1/metadata/{workspace_id}/un-archive/{file}',
        summary: 'Take a document out of the archive',
        parameters: schema.ByFile,
        responses: { 200: documentAnswer('The un-archived document.') },
        refusals: [404, 409],
      },
      async ({ principal, author, path }) =>
        render(await edit.setArchived(toViewer(principal), path.file, false, author)),
    ),
  ];
}
