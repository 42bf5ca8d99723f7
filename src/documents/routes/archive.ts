import { type Route, route } from '../../http/operation.ts';
import { ARCHIVE_EXAMPLE } from '../examples.ts';
import { renderList, toListPage } from '../lists.ts';
import type { createArchive } from '../operations/archive.ts';
import { toViewer } from '../policy.ts';
import * as schema from '../schema.ts';
import type { DocumentStore } from '../store.ts';
import { documentAnswer, READ, type Render, WRITE } from './answers.ts';

export type ArchiveRoutesDeps = {
  archive: ReturnType<typeof createArchive>;
  unarchive: ReturnType<typeof createArchive>;
  lists: Pick<DocumentStore, 'listArchive'>;
  render: Render;
  bucket: string;
};

/** The archive: documents that stay readable, but that searches no longer find. */
export function archiveRoutes({ archive, unarchive, lists, render, bucket }: ArchiveRoutesDeps): Route[] {
  return [
    route(
      {
        ...WRITE,
        id: 'documents.archive',
        method: 'POST',
        path: '/v1/metadata/{workspace_id}/archive/{file_name}',
        summary: 'Archive a document: it stays readable, but searches no longer find it',
        parameters: schema.ByFileName,
        responses: { 200: documentAnswer('The archived document.') },
        refusals: [404, 409],
      },
      async ({ principal, path }) => render(await archive(toViewer(principal), path.file_name)),
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
        const listed = await lists.listArchive(toViewer(principal), toListPage(query));
        return renderList(listed, bucket, 'archived_at');
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
        responses: { 200: documentAnswer('The un-archived document.') },
        refusals: [404, 409],
      },
      async ({ principal, path }) => render(await unarchive(toViewer(principal), path.file)),
    ),
  ];
}
