import { isUuid } from '../../core/ids.ts';
import { type Route, route } from '../../http/operation.ts';
import { PageQuery, pageAnswer, toPageRequest } from '../../http/paging.ts';
import { DEAD_LETTER_EXAMPLE } from '../examples.ts';
import type { createDeadLetters } from '../operations/dead-letters.ts';
import { DeadLetterCount, DeadLetterPage, DeadLetterSelection, InWorkspace } from '../schema.ts';

const ADMINISTRATION = {
  area: 'metrics',
  credential: 'administration',
  scope: 'admin',
  parameters: InWorkspace,
} as const;
const COLLECTION = '/admin/api/workspaces/{workspace_id}/dead-letters';
const SELECTION = {
  body: DeadLetterSelection,
  bodyExample: { ids: [DEAD_LETTER_EXAMPLE.id] },
  bodyOptional: true,
} as const;

export function deadLetterRoutes(deadLetters: ReturnType<typeof createDeadLetters>): Route[] {
  const counted = (description: string) => ({
    200: { description, schema: DeadLetterCount, example: { count: 1 } },
  });
  return [
    route(
      {
        ...ADMINISTRATION,
        id: 'metrics.list-dead-letters',
        method: 'GET',
        path: COLLECTION,
        summary: 'List usage events that were accepted and that the database refused, newest first',
        query: PageQuery,
        responses: pageAnswer('A page.', DeadLetterPage, DEAD_LETTER_EXAMPLE),
      },
      ({ path, query }) => deadLetters.list(path.workspace_id, toPageRequest(query, isUuid)),
    ),
    route(
      {
        ...ADMINISTRATION,
        ...SELECTION,
        id: 'metrics.replay-dead-letters',
        audits: ['metrics.replay-dead-letters'],
        method: 'POST',
        path: `${COLLECTION}/replay`,
        summary: 'Send dead letters to the database again',
        description:
          'Those with the ids, without ids the oldest 1,000. One that is refused again stays, as the newest.',
        responses: counted('How many were sent.'),
      },
      async ({ author, path, body }) => ({
        count: await deadLetters.replay(author, path.workspace_id, body.ids),
      }),
    ),
    route(
      {
        ...ADMINISTRATION,
        ...SELECTION,
        id: 'metrics.purge-dead-letters',
        audits: ['metrics.purge-dead-letters'],
        method: 'DELETE',
        path: COLLECTION,
        summary: 'Delete dead letters for good',
        description: 'Those with the ids, without ids all of them.',
        responses: counted('How many were deleted.'),
      },
      async ({ author, path, body }) => ({
        count: await deadLetters.purge(author, path.workspace_id, body.ids),
      }),
    ),
  ];
}
