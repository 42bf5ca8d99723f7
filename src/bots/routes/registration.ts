import { type Route, route } from '../../http/operation.ts';
import { PageQuery, pageAnswer, toPageRequest } from '../../http/paging.ts';
import { WorkspacePath } from '../../http/schemas.ts';
import { toBotReference } from '../bot.ts';
import { BOT_EXAMPLE, BOT_PUT_EXAMPLE } from '../examples.ts';
import type { Registration } from '../operations/registration.ts';
import { BotPage, BotPath, BotPut, BotRead, isBotId } from '../schema.ts';

const ADMINISTRATION = { area: 'bots', credential: 'administration', scope: 'admin' } as const;
const COLLECTION = '/admin/api/workspaces/{workspace_id}/bots';
const ITEM = { ...ADMINISTRATION, path: `${COLLECTION}/{bot_id}`, parameters: BotPath } as const;
const BOT = { schema: BotRead, example: BOT_EXAMPLE };

export function registrationRoutes(registration: Registration): Route[] {
  return [
    route(
      {
        ...ADMINISTRATION,
        id: 'bots.list',
        method: 'GET',
        path: COLLECTION,
        summary: 'List the bots of a workspace, newest first',
        parameters: WorkspacePath,
        query: PageQuery,
        responses: pageAnswer('A page of bots.', BotPage, BOT_EXAMPLE),
        refusals: [404],
      },
      ({ path, query }) => registration.list(path.workspace_id, toPageRequest(query, isBotId)),
    ),
    route(
      {
        ...ITEM,
        id: 'bots.read',
        method: 'GET',
        summary: 'Read a bot',
        responses: { 200: { description: 'The bot.', ...BOT } },
        refusals: [404],
      },
      ({ path }) => registration.read(toBotReference(path)),
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
        responses: { 200: { description: 'The bot.', ...BOT } },
        refusals: [404],
      },
      ({ path, body, principal }) =>
        registration.put(toBotReference(path), body, principal.scopes.has('operator')),
    ),
    route(
      {
        ...ITEM,
        id: 'bots.delete',
        method: 'DELETE',
        summary: 'Remove a bot',
        description: 'Its conversations stay.',
        responses: { 204: { description: 'Removed; no content.' } },
        refusals: [404],
      },
      ({ path }) => registration.delete(toBotReference(path)),
    ),
  ];
}
