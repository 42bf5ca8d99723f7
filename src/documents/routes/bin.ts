import { forbidden } from '../../core/errors.ts';
import { noContent, type Route, reply, route } from '../../http/operation.ts';
import { withErrors } from '../../http/schemas.ts';
import { TRASH_EXAMPLE } from '../examples.ts';
import { renderList, toListPage } from '../lists.ts';
import type { createBin } from '../operations/bin.ts';
import type { createPurge } from '../operations/purge.ts';
import type { createRestore } from '../operations/restore.ts';
import { toViewer } from '../policy.ts';
import * as schema from '../schema.ts';
import type { DocumentStore } from '../store.ts';
import { type Answer, documentAnswer, READ, removed, WRITE } from './answers.ts';

export type BinRoutesDeps = {
  bin: ReturnType<typeof createBin>;
  restore: ReturnType<typeof createRestore>;
  purge: ReturnType<typeof createPurge>;
  lists: Pick<DocumentStore, 'listBin'>;
  answer: Answer;
  bucket: string;
};

/** The bin: in, out, and for good. */
export function binRoutes({ bin, restore, purge, lists, answer, bucket }: BinRoutesDeps): Route[] {
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
        await bin(toViewer(principal), path.file_id);
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
          { 200: { description: 'Binned documents.', schema: schema.TrashList, example: TRASH_EXAMPLE } },
          [401, 403, 422, 503],
        ),
      },
      async ({ principal, query }) => {
        const viewer = toViewer(principal);
        if (query.all && !viewer.admin) throw forbidden("Only administrators see the whole workspace's bin");
        const listed = await lists.listBin(viewer, { ...toListPage(query), all: query.all });
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
        await purge.one(toViewer(principal), path.file_id);
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
        responses: withErrors({ 200: documentAnswer('The restored document.') }, [401, 403, 404, 422, 503]),
      },
      async ({ principal, path }) => answer(200, await restore(toViewer(principal), path.file_id)),
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
        await purge.own(toViewer(principal));
        return noContent();
      },
    ),
  ];
}
