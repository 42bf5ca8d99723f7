import { Elysia } from 'elysia';
import { isUuid } from '../../core/ids.ts';
import type { Http } from '../../http/http.ts';
import { answer, json, parameters, refusals } from '../../http/input.ts';
import { toPageRequest } from '../../http/paging.ts';
import { renderDocument } from '../document.ts';
import { ARCHIVE_EXAMPLE, METADATA_EXAMPLE } from '../examples.ts';
import type { Edit } from '../operations/edit.ts';
import { documentNotFound, toViewer } from '../policy.ts';
import * as schema from '../schema.ts';
import type { DocumentStore } from '../store.ts';
import { documentAnswer, READ, renderList, WRITE } from './answers.ts';

export type MetadataRoutesDeps = {
  edit: Edit;
  store: Pick<DocumentStore, 'find' | 'listArchive'>;
  bucket: string;
};

/** One document's metadata, and the archive: documents that stay readable, but that searches no longer find. */
export const metadataRoutes = ({ plugin }: Http, { edit, store, bucket }: MetadataRoutesDeps) =>
  new Elysia({ name: 'documents.metadata', prefix: '/v1/metadata/:workspace_id', tags: ['documents'] })
    .use(plugin)
    .get(
      '/:document/detail',
      async ({ principal, params }) => {
        const document = await store.find(toViewer(principal), params.document, 'live');
        if (document === undefined) throw documentNotFound();
        return renderDocument(bucket, document);
      },
      {
        ...READ,
        params: parameters(schema.ByDocument),
        response: { 200: documentAnswer('The document.'), ...refusals(404) },
        detail: { operationId: 'documents.detail', summary: "Read a document's metadata, by id or name" },
      },
    )
    .put(
      '/:document',
      async ({ principal, author, params, body }) =>
        renderDocument(bucket, await edit.patch(toViewer(principal), params.document, body, author)),
      {
        ...WRITE,
        keepsAddress: true,
        params: parameters(schema.ByDocument),
        body: json(schema.DocumentMetadataPatch, { example: METADATA_EXAMPLE }),
        response: { 200: documentAnswer('The changed document.'), ...refusals(404, 409) },
        detail: {
          operationId: 'documents.patch',
          summary: "Change a document's metadata, by id or name",
          description:
            'Fields that the body does not name stay as they are; null clears those that can be null. Owner, curators and ' +
            'administrators may change a document, its `access` and `status` only owner and administrators, its `owner_id` ' +
            'only administrators.',
        },
      },
    )
    .post(
      '/archive/:file_name',
      async ({ principal, author, params }) =>
        renderDocument(bucket, await edit.setArchived(toViewer(principal), params.file_name, true, author)),
      {
        ...WRITE,
        keepsAddress: true,
        params: parameters(schema.ByFileName),
        response: { 200: documentAnswer('The archived document.'), ...refusals(404, 409) },
        detail: {
          operationId: 'documents.archive',
          summary: 'Archive a document: it stays readable, but searches no longer find it',
        },
      },
    )
    .get(
      '/archive/list',
      async ({ principal, query }) => {
        const page = toPageRequest(query, isUuid);
        return renderList(
          await store.listArchive(toViewer(principal), page),
          ({ archivedAt, createdAt }) => archivedAt ?? createdAt,
          (document, archived_at) => ({ ...renderDocument(bucket, document), archived_at }),
        );
      },
      {
        ...READ,
        params: parameters(schema.InWorkspace),
        query: parameters(schema.ArchiveQuery),
        response: {
          200: answer({
            description: 'Archived documents.',
            schema: schema.ArchiveList,
            example: ARCHIVE_EXAMPLE,
          }),
        },
        detail: {
          operationId: 'documents.archived',
          summary: 'List archived documents, the last archived first',
        },
      },
    )
    .post(
      '/un-archive/:file',
      async ({ principal, author, params }) =>
        renderDocument(bucket, await edit.setArchived(toViewer(principal), params.file, false, author)),
      {
        ...WRITE,
        keepsAddress: true,
        params: parameters(schema.ByFile),
        response: { 200: documentAnswer('The un-archived document.'), ...refusals(404, 409) },
        detail: { operationId: 'documents.unarchive', summary: 'Take a document out of the archive' },
      },
    );
