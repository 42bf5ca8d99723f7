import { Elysia } from 'elysia';
import type { Http } from '../../http/http.ts';
import { answer, parameters } from '../../http/input.ts';
import { pageAnswer } from '../../http/paging.ts';
import { renderDocument } from '../document.ts';
import { DOCUMENT_EXAMPLE, FOLDER_EXAMPLE } from '../examples.ts';
import { parseFolder } from '../objects.ts';
import type { createSearch } from '../operations/search.ts';
import { toViewer } from '../policy.ts';
import { FolderList, FolderQuery, InWorkspace } from '../schema.ts';
import { DocumentPage, SearchParameters } from '../search-schema.ts';
import type { DocumentStore } from '../store.ts';
import { READ } from './answers.ts';

/** The search, and the folders of the library. */
export function searchRoutes(
  { plugin }: Http,
  deps: {
    search: ReturnType<typeof createSearch>;
    store: Pick<DocumentStore, 'listFolders'>;
    bucket: string;
  },
) {
  const { search, store, bucket } = deps;
  return new Elysia({ name: 'documents.search', tags: ['documents'] })
    .use(plugin)
    .get(
      '/v1/filter/:workspace_id',
      async ({ principal, query }) => {
        const { documents, engine, total, page, size, pages } = await search(toViewer(principal), query);
        const items = documents.map((document) => renderDocument(bucket, document));
        const headers = { 'atrium-search-engine': engine };
        return Response.json({ items, total, page, size, pages }, { headers });
      },
      {
        ...READ,
        work: 'heavy',
        params: parameters(InWorkspace),
        query: parameters(SearchParameters),
        response: {
          200: answer({
            description: 'One page of what was found.',
            schema: DocumentPage,
            example: { items: [DOCUMENT_EXAMPLE], total: 1, page: 1, size: 50, pages: 1 },
          }),
        },
        detail: {
          operationId: 'documents.search',
          summary: 'Find documents by filters, page by page',
          description:
            'All filters hold together, repeats of one attribute too. Text compares trimmed, NFKD-decomposed and ' +
            'lower-cased. The header `Atrium-Search-Engine` names the engine that answered, `postgres` or `meilisearch`; ' +
            'the answer is the same.',
        },
      },
    )
    .get(
      '/v1/metadata/:workspace_id/folders/list',
      async ({ principal, query: { limit, cursor, ...query } }) => {
        const parent = parseFolder(query.parent, ['query', 'parent']);
        const after = parseFolder(cursor, ['query', 'cursor']) || undefined;
        const names = await store.listFolders(toViewer(principal), { parent, after, limit });
        const shown = names.slice(0, limit);
        const items = shown.map((name) => {
          const path = parent === '' ? name : `${parent}/${name}`;
          return { name, path, storage_url: `s3://${bucket}/${principal.workspaceId}/${path}/` };
        });
        return { items, next_cursor: names.length > limit ? (shown.at(-1) ?? null) : null };
      },
      {
        ...READ,
        work: 'heavy',
        params: parameters(InWorkspace),
        query: parameters(FolderQuery),
        response: { ...pageAnswer('A page of folders.', FolderList, FOLDER_EXAMPLE) },
        detail: {
          operationId: 'documents.folders',
          summary: 'List the folders in a folder',
          description:
            'In the order of their names. A folder is there while a document that the caller may see is in it or below it, and is ' +
            'neither archived nor in the bin.',
        },
      },
    );
}
