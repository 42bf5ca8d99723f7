import { Type } from '@sinclair/typebox';
import type { Principal } from '../../core/principal.ts';
import { readJsonBody } from '../../http/json-body.ts';
import { type Route, reply, route } from '../../http/operation.ts';
import { renderForAddOn } from '../add-on.ts';
import { ChatappAddOnEvent, ChatappAddOnReply } from '../add-on-schema.ts';
import { type Bot, type BotReference, toBotReference } from '../bot.ts';
import { parseEvent } from '../event.ts';
import { ChatappEvent, ChatappMessageRequest } from '../event-schema.ts';
import { EVENT_EXAMPLE } from '../examples.ts';
import type { createAnswerEvent } from '../operations/answer-event.ts';
import { ChatappReply, WebhookPath } from '../schema.ts';
import type { VerifyEventToken } from '../verify.ts';

export type WebhookDeps = {
  /** Throws 404. */
  requireBot(reference: BotReference): Promise<Bot>;
  verify: VerifyEventToken;
  answer: ReturnType<typeof createAnswerEvent>;
};

const EventBody = Type.Union([ChatappMessageRequest, ChatappEvent, ChatappAddOnEvent]);

export function webhookRoute({ requireBot, verify, answer }: WebhookDeps): Route {
  return route(
    {
      id: 'bots.answer',
      method: 'POST',
      path: '/chatapp/{workspace_id}/{bot_id}',
      area: 'bots',
      summary: 'Take an event of a chat app, and answer it',
      description:
        'Authorised by the token of the platform, as the bot is registered, or by an API key. Events of the types ' +
        '`ADDED_TO_SPACE`, `REMOVED_FROM_SPACE`, `CARD_CLICKED`, `APP_COMMAND`, `APP_HOME`, `SUBMIT_FORM` and ' +
        '`WIDGET_UPDATED` need no `message`, `configCompleteRedirectUrl` and `common`. ' +
        'Events of Google Workspace add-ons (`commonEventObject`, `chat`) are understood likewise, and answered with ' +
        'the action that sends the message. ' +
        'An event that comes again is answered as before, with the header ' +
        '`Idempotent-Replayed: true`. If a model fails or takes too long, the answer says so.',
      events: [
        'chat.create',
        'messages.user.new',
        'messages.rag.persona.new',
        'messages.rag.agent.new',
        'messages.rag.bot.new',
      ],
      credential: 'key-or-token',
      scope: 'bots',
      parameters: WebhookPath,
      bodyContent: { 'application/json': { schema: EventBody, example: EVENT_EXAMPLE } },
      responses: {
        200: {
          description: "The bot's message; `{}` for events that need none.",
          schema: Type.Union([ChatappReply, ChatappAddOnReply]),
          example: { text: 'It is in the folder of the board.' },
        },
      },
      refusals: [404],
    },
    async ({ path, request, principal }) => {
      const bot = await requireBot(toBotReference(path));
      const { event, format } = parseEvent(await readJsonBody(request));
      const key = principal.keyId === PLATFORM ? undefined : principal;
      const { message, replayed } = await answer(bot, event, key);
      const body = format === 'add-on' ? renderForAddOn(message) : message;
      return reply(200, body, replayed ? { 'idempotent-replayed': 'true' } : {});
    },
    async (token, path) => {
      const bot = await requireBot(toBotReference(path));
      await verify(bot.verification, token);
      return platformOf(bot);
    },
  );
}

const PLATFORM = 'chatapp';

/** The chat app itself, which acts for the person that an event names. */
const platformOf = ({ workspaceId }: Bot): Principal => ({
  keyId: PLATFORM,
  workspaceId,
  userId: 'chatapp',
  email: '',
  scopes: new Set(['bots']),
  limits: {},
});
