import { type Route, reply, route } from '../../http/operation.ts';
import { withErrors } from '../../http/schemas.ts';
import { ARCHIVE_EXAMPLE } from '../examples.ts';
import { renderList, toListPage } from '../lists.ts';
import type { createArchive } from '../operations/archive.ts';
import { toViewer } from '../policy.ts';
import * as schema from '../schema.ts';
import type { DocumentStore } from '../store.ts';
import { type Answer, documentAnswer, READ, WRITE } from './answers.ts';

export type ArchiveRoutesDeps = {
  archive: ReturnType<typeof createArchive>;
  unarchive: ReturnType<typeof createArchive>;
  lists: Pick<DocumentStore, 'listArchive'>;
  answer: Answer;
  bucket: string;
};

/** The archive: documents that stay readable, but that searches no longer find. */
export function archiveRoutes({ archive, unarchive, lists, answer, bucket }: ArchiveRoutesDeps): Route[] {
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
          { 200: documentAnswer('The archived document.') },
          [401, 403, 404, 409, 422, 503],
        ),
      },
      async ({ principal, path }) => answer(200, await archive(toViewer(principal), path.file_name)),
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
            200: { description: 'Archived documents.', schema: schema.ArchiveList, example: ARCHIVE_EXAMPLE },
          },
          [401, 403, 422, 503],
        ),
      },
      async ({ principal, query }) => {
        const listed = await lists.listArchive(toViewer(principal), toListPage(query));
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
          { 200: documentAnswer('The un-archived document.') },
          [401, 403, 404, 409, 422, 503],
        ),
      },
      async ({ principal, path }) => answer(200, await unarchive(toViewer(principal), path.file)),
    ),
  ];
}
