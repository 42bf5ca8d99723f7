import { type Route, route } from '../../http/operation.ts';
import { toViewer } from '../policy.ts';
import { READ } from '../routes/answers.ts';
import { InWorkspace } from '../schema.ts';
import { parseFilters } from './filters.ts';
import { PASSAGES_DEFAULT } from './limits.ts';
import type { FoundPassage, Retrieve } from './retrieve.ts';
import * as schema from './schema.ts';

export function retrievalRoutes({ retrieve }: { retrieve: Retrieve }): Route[] {
  return [
    route(
      {
        ...READ,
        id: 'documents.retrieve',
        method: 'POST',
        path: '/v1/{workspace_id}/retrieve',
        summary: 'Find the passages that answer a question',
        description:
          'Only passages of documents that the caller may see now, and that `filter` lets pass; never fewer than asked for ' +
          'because others were left out. `engine` says what found them.',
        parameters: InWorkspace,
        body: schema.RetrieveRequest,
        bodyExample: schema.RETRIEVE_REQUEST_EXAMPLE,
        responses: {
          200: {
            description: 'What was found.',
            schema: schema.RetrieveAnswer,
            example: schema.RETRIEVE_EXAMPLE,
          },
        },
      },
      async ({ principal, body, request }) => {
        const { query, limit = PASSAGES_DEFAULT, mode = 'hybrid', filter, min_score } = body;
        const asked = {
          query,
          limit,
          mode,
          filter: filter ? parseFilters(filter, ['body', 'filter']) : undefined,
          minScore: min_score ?? undefined,
        };
        const { passages, engine } = await retrieve(toViewer(principal), asked, request.signal);
        return { passages: passages.map(render), engine };
      },
    ),
  ];
}

const render = ({ documentId, name, page, heading, text, score, start, end }: FoundPassage) => ({
  document_id: documentId,
  name,
  page,
  heading,
  text,
  score: Math.round(score * 10_000) / 10_000,
  start,
  end,
});
