import { Elysia } from 'elysia';
import { isUuid } from '../../core/ids.ts';
import type { Http } from '../../http/http.ts';
import { answers, json, parameters } from '../../http/input.ts';
import { PageQuery, pageAnswer, toPageRequest } from '../../http/paging.ts';
import { DEAD_LETTER_EXAMPLE } from '../examples.ts';
import type { createDeadLetters } from '../operations/dead-letters.ts';
import { DeadLetterCount, DeadLetterPage, DeadLetterSelection, InWorkspace } from '../schema.ts';

const ADMINISTRATION = {
  key: { in: 'administration', scope: 'admin' },
  params: parameters(InWorkspace),
} as const;
const COLLECTION = '/admin/api/workspaces/:workspace_id/dead-letters';
const SELECTION = {
  body: json(DeadLetterSelection, { example: { ids: [DEAD_LETTER_EXAMPLE.id] }, optional: true }),
} as const;

export function deadLetterRoutes({ plugin }: Http, deadLetters: ReturnType<typeof createDeadLetters>) {
  const counted = (description: string) => ({
    200: { description, schema: DeadLetterCount, example: { count: 1 } },
  });
  return new Elysia({ name: 'usage.dead-letters', tags: ['metrics'] })
    .use(plugin)
    .get(
      COLLECTION,
      ({ params, query }) => deadLetters.list(params.workspace_id, toPageRequest(query, isUuid)),
      {
        ...ADMINISTRATION,
        query: parameters(PageQuery),
        response: { ...pageAnswer('A page.', DeadLetterPage, DEAD_LETTER_EXAMPLE) },
        detail: {
          operationId: 'metrics.list-dead-letters',
          summary: 'List usage events that were accepted and that the database refused, newest first',
        },
      },
    )
    .post(
      `${COLLECTION}/replay`,
      async ({ author, params, body }) => ({
        count: await deadLetters.replay(author, params.workspace_id, body.ids),
      }),
      {
        ...ADMINISTRATION,
        ...SELECTION,
        audits: ['metrics.replay-dead-letters'],
        response: { ...answers(counted('How many were sent.')) },
        detail: {
          operationId: 'metrics.replay-dead-letters',
          summary: 'Send dead letters to the database again',
          description:
            'Those with the ids, without ids the oldest 1,000. One that is refused again stays, as the newest.',
        },
      },
    )
    .delete(
      COLLECTION,
      async ({ author, params, body }) => ({
        count: await deadLetters.purge(author, params.workspace_id, body.ids),
      }),
      {
        ...ADMINISTRATION,
        ...SELECTION,
        audits: ['metrics.purge-dead-letters'],
        response: { ...answers(counted('How many were deleted.')) },
        detail: {
          operationId: 'metrics.purge-dead-letters',
          summary: 'Delete dead letters for good',
          description: 'Those with the ids, without ids all of them.',
        },
      },
    );
}
