import { forbidden } from '../../core/errors.ts';
import { isUuid } from '../../core/ids.ts';
import { type Route, route } from '../../http/operation.ts';
import { toPageRequest } from '../../http/paging.ts';
import { TRASH_EXAMPLE } from '../examples.ts';
import type { Bin } from '../operations/bin.ts';
import { toViewer } from '../policy.ts';
import * as schema from '../schema.ts';
import type { DocumentStore } from '../store.ts';
import { documentAnswer, READ, type Render, removed, renderList, WRITE } from './answers.ts';

export function binRoutes(deps: {
  bin: Bin;
  store: Pick<DocumentStore, 'listBin'>;
  render: Render;
}): Route[] {
  const { bin, store, render } = deps;
  return [
    route(
      {
        ...WRITE,
        id: 'documents.bin',
        notesAddress: true,
        method: 'DELETE',
        path: '/v1/{workspace_id}/{file_id}',
        summary: 'Put a document into the bin',
        parameters: schema.ByFileId,
        responses: removed,
        refusals: [404],
      },
      ({ principal, author, path }) => bin.put(toViewer(principal), path.file_id, author),
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
        responses: {
          200: { description: 'Binned documents.', schema: schema.TrashList, example: TRASH_EXAMPLE },
        },
      },
      async ({ principal, query }) => {
        const viewer = toViewer(principal);
        if (query.all && !viewer.admin) throw forbidden("Only administrators see the whole workspace's bin");
        const page = { ...toPageRequest(query, isUuid), all: query.all };
        return renderList(await store.listBin(viewer, page), 'deleted_at', render);
      },
    ),
    route(
      {
        ...WRITE,
        id: 'documents.purge',
        audits: ['documents.purge'],
        method: 'DELETE',
        path: '/v1/{workspace_id}/trash/{file_id}',
        summary: 'Delete a binned document permanently',
        parameters: schema.ByFileId,
        responses: removed,
        refusals: [404],
      },
      ({ principal, author, path }) => bin.purge(toViewer(principal), path.file_id, author),
    ),
    route(
      {
        ...WRITE,
        id: 'documents.restore',
        notesAddress: true,
        method: 'POST',
        path: '/v1/{workspace_id}/restore/{file_id}',
        summary: 'Take a document out of the bin',
        parameters: schema.ByFileId,
        responses: { 200: documentAnswer('The restored document.') },
        refusals: [404],
      },
      async ({ principal, author, path }) =>
        render(await bin.restore(toViewer(principal), path.file_id, author)),
    ),
    route(
      {
        ...WRITE,
        id: 'documents.empty-trash',
        work: 'heavy',
        audits: ['documents.purge'],
        method: 'DELETE',
        path: '/v1/{workspace_id}/empty/trash',
        summary: "Delete every document in the caller's bin permanently",
        parameters: schema.InWorkspace,
        responses: removed,
      },
      ({ principal, author }) => bin.empty(toViewer(principal), author),
    ),
  ];
}
