import { type Route, reply, route } from '../../http/operation.ts';
import { DOCUMENT_EXAMPLE } from '../examples.ts';
import type { createSearch } from '../operations/search.ts';
import { toViewer } from '../policy.ts';
import { InWorkspace } from '../schema.ts';
import { DocumentPage, SearchParameters } from '../search-schema.ts';
import { READ, type Render } from './answers.ts';

export function searchRoutes(deps: { search: ReturnType<typeof createSearch>; render: Render }): Route[] {
  const { search, render } = deps;
  return [
    route(
      {
        ...READ,
        id: 'documents.search',
        method: 'GET',
        path: '/v1/filter/{workspace_id}',
        summary: 'Find documents by filters, page by page',
        description:
          'All filters hold together, repeats of one attribute too. Text compares trimmed, NFKD-decomposed and ' +
          'lower-cased. The header `Atrium-Search-Engine` names the engine that answered, `postgres` or `meilisearch`; ' +
          'the answer is the same.',
        parameters: InWorkspace,
        query: SearchParameters,
        responses: {
          200: {
            description: 'One page of what was found.',
            schema: DocumentPage,
            example: { items: [DOCUMENT_EXAMPLE], total: 1, page: 1, size: 50, pages: 1 },
          },
        },
      },
      async ({ principal, query }) => {
        const { documents, engine, total, page, size, pages } = await search(toViewer(principal), query);
        const items = documents.map(render);
        return reply(200, { items, total, page, size, pages }, { 'atrium-search-engine': engine });
      },
    ),
  ];
}
