import { forbidden } from '../../core/errors.ts';
import { type Route, route } from '../../http/operation.ts';
import { TRASH_EXAMPLE } from '../examples.ts';
import { renderList, toListPage } from '../lists.ts';
import type { createBin } from '../operations/bin.ts';
import type { createPurge } from '../operations/purge.ts';
import type { createRestore } from '../operations/restore.ts';
import { toViewer } from '../policy.ts';
import * as schema from '../schema.ts';
import type { DocumentStore } from '../store.ts';
import { documentAnswer, READ, type Render, removed, WRITE } from './answers.ts';

export type BinRoutesDeps = {
  bin: ReturnType<typeof createBin>;
  restore: ReturnType<typeof createRestore>;
  purge: ReturnType<typeof createPurge>;
  lists: Pick<DocumentStore, 'listBin'>;
  render: Render;
  bucket: string;
};

/** The bin: in, out, and for good. */
export function binRoutes({ bin, restore, purge, lists, render, bucket }: BinRoutesDeps): Route[] {
  return [
    route(
      {
        ...WRITE,
        id: 'documents.bin',
        method: 'DELETE',
        path: '/v1/{workspace_id}/{file_id}',
        summary: 'Put a document into the bin',
        parameters: schema.ByFileId,
        responses: removed,
        refusals: [404],
      },
      ({ principal, path }) => bin(toViewer(principal), path.file_id),
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
        const listed = await lists.listBin(viewer, { ...toListPage(query), all: query.all });
        return renderList(listed, bucket, 'deleted_at');
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
        responses: removed,
        refusals: [404],
      },
      ({ principal, path }) => purge.one(toViewer(principal), path.file_id),
    ),
    route(
      {
        ...WRITE,
        id: 'documents.restore',
        method: 'POST',
        path: '/v1/{workspace_id}/restore/{file_id}',
        summary: 'Take a document out of the bin',
        parameters: schema.ByFileId,
        responses: { 200: documentAnswer('The restored document.') },
        refusals: [404],
      },
      async ({ principal, path }) => render(await restore(toViewer(principal), path.file_id)),
    ),
    route(
      {
        ...WRITE,
        id: 'documents.empty-trash',
        method: 'DELETE',
        path: '/v1/{workspace_id}/empty/trash',
        summary: "Delete every document in the caller's bin permanently",
        parameters: schema.InWorkspace,
        responses: removed,
      },
      ({ principal }) => purge.own(toViewer(principal)),
    ),
  ];
}
