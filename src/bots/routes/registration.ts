import { Type } from '@sinclair/typebox';
import { noContent, type Route, reply, route } from '../../http/operation.ts';
import { PageQuery, toPageRequest } from '../../http/paging.ts';
import { withErrors } from '../../http/schemas.ts';
import type { BotReference } from '../bot.ts';
import { BOT_EXAMPLE, BOT_PUT_EXAMPLE } from '../examples.ts';
import type { Registration } from '../operations/registration.ts';
import { BotPage, BotPath, BotPut, BotRead, InWorkspace, isBotId } from '../schema.ts';

const ADMINISTRATION = { area: 'bots', credential: 'administration', scope: 'admin' } as const;
const COLLECTION = '/admin/api/workspaces/{workspace_id}/bots';
const ITEM = {
  ...ADMINISTRATION,
  path: `${COLLECTION}/{bot_id}`,
  parameters: BotPath,
  query: Type.Object({}),
} as const;
const BOT = { schema: BotRead, example: BOT_EXAMPLE };

const toReference = (path: { workspace_id: string; bot_id: string }): BotReference => ({
  workspaceId: path.workspace_id,
  id: path.bot_id,
});

export function registrationRoutes(registration: Registration): Route[] {
  return [
    route(
      {
        ...ADMINISTRATION,
        id: 'bots.list',
        method: 'GET',
        path: COLLECTION,
        summary: 'List the bots of a workspace, newest first',
        parameters: InWorkspace,
        query: PageQuery,
        responses: withErrors(
          {
            200: {
              description: 'A page of bots.',
              schema: BotPage,
              example: { items: [BOT_EXAMPLE], next_cursor: null },
            },
          },
          [401, 403, 404, 422, 503],
        ),
      },
      async ({ path, query }) =>
        reply(200, await registration.list(path.workspace_id, toPageRequest(query, isBotId))),
    ),
    route(
      {
        ...ITEM,
        id: 'bots.read',
        method: 'GET',
        summary: 'Read a bot',
        responses: withErrors({ 200: { description: 'The bot.', ...BOT } }, [401, 403, 404, 422, 503]),
      },
      async ({ path }) => reply(200, await registration.read(toReference(path))),
    ),
    route(
      {
        ...ITEM,
        id: 'bots.put',
        method: 'PUT',
        summary: 'Register a bot, or replace its registration',
        description:
          'Its webhook is `POST /chatapp/{workspace_id}/{bot_id}`. Without `agent_id` the default agent of the ' +
          'workspace answers. A command, by the id that it has with the chat app, has a reply or an agent of its own. ' +
          'Only an operator may give a URL of keys (`jwks`) that leads to an address that is not public.',
        body: BotPut,
        bodyExample: BOT_PUT_EXAMPLE,
        responses: withErrors(
          { 200: { description: 'The bot.', ...BOT } },
          [401, 403, 404, 413, 415, 422, 503],
        ),
      },
      async ({ path, body, principal }) =>
        reply(200, await registration.put(toReference(path), body, principal.scopes.has('operator'))),
    ),
    route(
      {
        ...ITEM,
        id: 'bots.delete',
        method: 'DELETE',
        summary: 'Remove a bot',
        description: 'Its conversations stay.',
        responses: withErrors({ 204: { description: 'Removed; no content.' } }, [401, 403, 404, 422, 503]),
      },
      async ({ path }) => {
        await registration.delete(toReference(path));
        return noContent();
      },
    ),
  ];
}
