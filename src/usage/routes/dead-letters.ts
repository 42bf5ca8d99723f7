import { Type } from '@sinclair/typebox';
import { isUuid } from '../../core/ids.ts';
import { type Route, reply, route } from '../../http/operation.ts';
import { PageQuery, toPageRequest } from '../../http/paging.ts';
import { withErrors } from '../../http/schemas.ts';
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
  query: Type.Object({}),
  body: DeadLetterSelection,
  bodyExample: { ids: [DEAD_LETTER_EXAMPLE.id] },
  bodyOptional: true,
} as const;

export function deadLetterRoutes(deadLetters: ReturnType<typeof createDeadLetters>): Route[] {
  const counted = (description: string) =>
    withErrors(
      { 200: { description, schema: DeadLetterCount, example: { count: 1 } } },
      [401, 403, 413, 415, 422, 503],
    );
  return [
    route(
      {
        ...ADMINISTRATION,
        id: 'metrics.list-dead-letters',
        method: 'GET',
        path: COLLECTION,
        summary: 'List usage events that were accepted and that the database refused, newest first',
        query: PageQuery,
        responses: withErrors(
          {
            200: {
              description: 'A page.',
              schema: DeadLetterPage,
              example: { items: [DEAD_LETTER_EXAMPLE], next_cursor: null },
            },
          },
          [401, 403, 422, 503],
        ),
      },
      async ({ path, query }) =>
        reply(200, await deadLetters.list(path.workspace_id, toPageRequest(query, isUuid))),
    ),
    route(
      {
        ...ADMINISTRATION,
        ...SELECTION,
        id: 'metrics.replay-dead-letters',
        method: 'POST',
        path: `${COLLECTION}/replay`,
        summary: 'Send dead letters to the database again',
        description:
          'Those with the ids, without ids the oldest 1,000. One that is refused again stays, as the newest.',
        responses: counted('How many were sent.'),
      },
      async ({ path, body }) => reply(200, { count: await deadLetters.replay(path.workspace_id, body.ids) }),
    ),
    route(
      {
        ...ADMINISTRATION,
        ...SELECTION,
        id: 'metrics.purge-dead-letters',
        method: 'DELETE',
        path: COLLECTION,
        summary: 'Delete dead letters for good',
        description: 'Those with the ids, without ids all of them.',
        responses: counted('How many were deleted.'),
      },
      async ({ path, body }) => reply(200, { count: await deadLetters.purge(path.workspace_id, body.ids) }),
    ),
  ];
}
