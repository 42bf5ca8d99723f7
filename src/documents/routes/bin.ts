import { Elysia } from 'elysia';
import { forbidden } from '../../core/errors.ts';
import { isUuid } from '../../core/ids.ts';
import type { Http } from '../../http/http.ts';
import { answer, parameters, refusals } from '../../http/input.ts';
import { toPageRequest } from '../../http/paging.ts';
import { renderDocument } from '../document.ts';
import { TRASH_EXAMPLE } from '../examples.ts';
import type { Bin } from '../operations/bin.ts';
import { toViewer } from '../policy.ts';
import * as schema from '../schema.ts';
import type { DocumentStore } from '../store.ts';
import { documentAnswer, READ, removed, renderList, WRITE } from './answers.ts';

export type BinRoutesDeps = { bin: Bin; store: Pick<DocumentStore, 'listBin'>; bucket: string };

export const binRoutes = ({ plugin }: Http, { bin, store, bucket }: BinRoutesDeps) =>
  new Elysia({ name: 'documents.bin', prefix: '/v1/:workspace_id', tags: ['documents'] })
    .use(plugin)
    .delete(
      '/:file_id',
      ({ principal, author, params }) => bin.put(toViewer(principal), params.file_id, author),
      {
        ...WRITE,
        keepsAddress: true,
        params: parameters(schema.ByFileId),
        response: { ...removed, ...refusals(404) },
        detail: { operationId: 'documents.bin', summary: 'Put a document into the bin' },
      },
    )
    .get(
      '/trash',
      async ({ principal, query }) => {
        const viewer = toViewer(principal);
        if (query.all && !viewer.admin) throw forbidden("Only administrators see the whole workspace's bin");
        const page = { ...toPageRequest(query, isUuid), all: query.all };
        return renderList(
          await store.listBin(viewer, page),
          ({ deletedAt, createdAt }) => deletedAt ?? createdAt,
          (document, deleted_at) => ({ ...renderDocument(bucket, document), deleted_at }),
        );
      },
      {
        ...READ,
        params: parameters(schema.InWorkspace),
        query: parameters(schema.TrashQuery),
        response: {
          200: answer({ description: 'Binned documents.', schema: schema.TrashList, example: TRASH_EXAMPLE }),
        },
        detail: {
          operationId: 'documents.trash',
          summary: "List the bin: the caller's own documents, newest first",
        },
      },
    )
    .delete(
      '/trash/:file_id',
      ({ principal, author, params }) => bin.purge(toViewer(principal), params.file_id, author),
      {
        ...WRITE,
        audits: ['documents.purge'],
        params: parameters(schema.ByFileId),
        response: { ...removed, ...refusals(404) },
        detail: { operationId: 'documents.purge', summary: 'Delete a binned document permanently' },
      },
    )
    .post(
      '/restore/:file_id',
      async ({ principal, author, params }) =>
        renderDocument(bucket, await bin.restore(toViewer(principal), params.file_id, author)),
      {
        ...WRITE,
        keepsAddress: true,
        params: parameters(schema.ByFileId),
        response: { 200: documentAnswer('The restored document.'), ...refusals(404) },
        detail: { operationId: 'documents.restore', summary: 'Take a document out of the bin' },
      },
    )
    .delete('/empty/trash', ({ principal, author }) => bin.empty(toViewer(principal), author), {
      ...WRITE,
      work: 'heavy',
      audits: ['documents.purge'],
      params: parameters(schema.InWorkspace),
      response: removed,
      detail: {
        operationId: 'documents.empty-trash',
        summary: "Delete every document in the caller's bin permanently",
      },
    });
