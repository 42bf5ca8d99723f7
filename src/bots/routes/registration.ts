import { Elysia } from 'elysia';
import type { Clock } from '../../core/clock.ts';
import type { Http } from '../../http/http.ts';
import { answer, json, parameters, refusals } from '../../http/input.ts';
import { PageQuery, pageAnswer, toPage, toPageRequest } from '../../http/paging.ts';
import { WorkspacePath } from '../../http/schemas.ts';
import { type Bot, type Bots, botNotFound, toBotReference } from '../bots.ts';
import { checkRegistration } from '../check-registration.ts';
import { BOT_EXAMPLE, BOT_PUT_EXAMPLE, BotPage, BotPath, BotPut, BotRead, isBotId } from '../schema.ts';

const ADMINISTRATION = { key: { in: 'administration', scope: 'admin' } } as const;
const ITEM = { ...ADMINISTRATION, params: parameters(BotPath) } as const;
const BOT = { schema: BotRead, example: BOT_EXAMPLE };

/** Its verification is shown without the internal field. */
function render({ verification: { jwks_anywhere: _, ...verification }, ...bot }: Bot): BotRead {
  return {
    id: bot.id,
    verification,
    agent_id: bot.agentId,
    welcome_text: bot.welcomeText,
    commands: [...bot.commands],
    created_at: bot.createdAt.toISOString(),
    updated_at: bot.updatedAt.toISOString(),
  };
}

/**
 * The bots of a workspace. A change applies from the next event on; in other processes after the notification of the
 * database.
 */
export const registrationRoutes = (
  { plugin }: Http,
  bots: Bots,
  requireWorkspace: (id: string) => Promise<void>,
  clock: Clock,
) =>
  new Elysia({
    name: 'bots.registration',
    prefix: '/admin/api/workspaces/:workspace_id/bots',
    tags: ['bots'],
  })
    .use(plugin)
    .get(
      '',
      async ({ params, query }) => {
        const page = toPageRequest(query, isBotId);
        await requireWorkspace(params.workspace_id);
        return toPage(await bots.list(params.workspace_id, page), page.limit, render);
      },
      {
        ...ADMINISTRATION,
        params: parameters(WorkspacePath),
        query: parameters(PageQuery),
        response: { ...pageAnswer('A page of bots.', BotPage, BOT_EXAMPLE), ...refusals(404) },
        detail: { operationId: 'bots.list', summary: 'List the bots of a workspace, newest first' },
      },
    )
    .get(
      '/:bot_id',
      async ({ params }) => {
        return render(await bots.require(toBotReference(params), { cached: false }));
      },
      {
        ...ITEM,
        response: { 200: answer({ description: 'The bot.', ...BOT }), ...refusals(404) },
        detail: { operationId: 'bots.read', summary: 'Read a bot' },
      },
    )
    .put(
      '/:bot_id',
      async ({ params, body, principal, author }) => {
        const reference = toBotReference(params);
        await requireWorkspace(reference.workspaceId);
        // Others may keep the URL that an operator has given.
        const before = (await bots.find(reference))?.verification;
        const keepsUrl = before?.jwks_anywhere === true && before.jwks === body.verification.jwks;
        const settings = await checkRegistration(body, principal.scopes.has('operator') || keepsUrl);
        const at = clock.now();
        return render(await bots.put({ ...reference, ...settings, createdAt: at, updatedAt: at }, author));
      },
      {
        ...ITEM,
        audits: ['bots.put'],
        body: json(BotPut, { example: BOT_PUT_EXAMPLE }),
        response: { 200: answer({ description: 'The bot.', ...BOT }), ...refusals(404) },
        detail: {
          operationId: 'bots.put',
          summary: 'Register a bot, or replace its registration',
          description:
            'Its webhook is `POST /chatapp/{workspace_id}/{bot_id}`. Without `agent_id` the default agent of the ' +
            'workspace answers. A command, by the id that it has with the chat app, has a reply or an agent of its own. ' +
            'Only an operator may give a URL of keys (`jwks`) that leads to an address that is not public.',
        },
      },
    )
    .delete(
      '/:bot_id',
      async ({ author, params }) => {
        if (!(await bots.delete(toBotReference(params), author))) throw botNotFound();
      },
      {
        ...ITEM,
        audits: ['bots.delete'],
        response: { 204: answer({ description: 'Removed; no content.' }), ...refusals(404) },
        detail: {
          operationId: 'bots.delete',
          summary: 'Remove a bot',
          description: 'Its conversations stay.',
        },
      },
    );
