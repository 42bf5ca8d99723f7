import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import type { Http } from '../../http/http.ts';
import { answer, bytes, parameters, refusals } from '../../http/input.ts';
import type { VerifyToken } from '../../http/routes.ts';
import { text } from '../../http/schemas.ts';
import { toJsonBody } from '../../http/validation.ts';
import { type EventAnswerer, platformOf } from '../answer-event.ts';
import { type Bots, toBotReference } from '../bots.ts';
import { EVENT_EXAMPLE, EventAnswer, EventBody } from '../event-schema.ts';
import type { TokenVerifier } from '../verify.ts';

const WebhookPath = Type.Object({
  workspace_id: text('The workspace of the bot.'),
  bot_id: text('The identifier under which the bot is registered.'),
});

/** Who sends events: the platform, and keys with this scope. */
export const SENDER = { in: 'key-or-token', scope: 'bots' } as const;

/** The events of the service that an event of a chat app may cause. */
export const CAUSED = [
  'chat.create',
  'messages.user.new',
  'messages.rag.persona.new',
  'messages.rag.agent.new',
  'messages.rag.bot.new',
];

export type WebhookDeps = { bots: Bots; tokens: TokenVerifier; events: EventAnswerer };

export function webhookRoutes({ plugin }: Http, { bots, tokens, events }: WebhookDeps) {
  const verifyToken: VerifyToken = async (token, { workspace_id, bot_id }) => {
    const bot = await bots.require({ workspaceId: String(workspace_id), id: String(bot_id) });
    await tokens.verify(bot.verification, token);
    return platformOf(bot);
  };
  return new Elysia({ name: 'bots.webhook', tags: ['bots'] }).use(plugin).post(
    '/chatapp/:workspace_id/:bot_id',
    async ({ params, request, body, principal }) => {
      const bot = await bots.require(toBotReference(params));
      const answered = await events.answerBody(bot, await toJsonBody(request, body), principal);
      return Response.json(
        answered.body,
        answered.replayed ? { headers: { 'idempotent-replayed': 'true' } } : {},
      );
    },
    {
      key: { ...SENDER, verify: verifyToken },
      work: 'model',
      events: CAUSED,
      params: parameters(WebhookPath),
      body: bytes({ 'application/json': { schema: EventBody, example: EVENT_EXAMPLE } }),
      response: {
        200: answer({
          description: "The bot's message; `{}` for events that need none.",
          schema: EventAnswer,
          example: { text: 'It is in the folder of the board.' },
        }),
        ...refusals(404),
      },
      detail: {
        operationId: 'bots.answer',
        summary: 'Take an event of a chat app, and answer it',
        description:
          'Authorised by the token of the platform, as the bot is registered, or by an API key. Events of the types ' +
          '`ADDED_TO_SPACE`, `REMOVED_FROM_SPACE`, `CARD_CLICKED`, `APP_COMMAND`, `APP_HOME`, `SUBMIT_FORM` and ' +
          '`WIDGET_UPDATED` need no `message`, `configCompleteRedirectUrl` and `common`. ' +
          'Events of Google Workspace add-ons (`commonEventObject`, `chat`) are understood likewise, and answered with ' +
          'the action that sends the message. ' +
          'An event that comes again is answered as before, with the header ' +
          '`Idempotent-Replayed: true`. If a model fails or takes too long, the answer says so.',
      },
    },
  );
}
