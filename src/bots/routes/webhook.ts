import { type Static, Type } from '@sinclair/typebox';
import type { Principal } from '../../core/principal.ts';
import { type Route, route } from '../../http/operation.ts';
import { toJsonBody } from '../../http/validation.ts';
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
  take: TakeEvent;
};

/** Answers the body of an event in the format that it has. Throws ValidationFailure, and as the operation does. */
export type TakeEvent = (
  bot: Bot,
  body: unknown,
  caller: Principal,
) => Promise<{ body: Static<typeof EventAnswer>; replayed: boolean }>;

export const createTakeEvent =
  (answer: ReturnType<typeof createAnswerEvent>): TakeEvent =>
  async (bot, body, caller) => {
    const { event, format } = parseEvent(body);
    const key = caller.keyId === PLATFORM ? undefined : caller;
    const { message, replayed } = await answer(bot, event, key);
    return { body: format === 'add-on' ? renderForAddOn(message) : message, replayed };
  };

/** Who sends events: the platform, and keys with this scope. */
export const SENDER = { credential: 'key-or-token', scope: 'bots' } as const;

/** The events of the service that an event of a chat app may cause. */
export const CAUSED = [
  'chat.create',
  'messages.user.new',
  'messages.rag.persona.new',
  'messages.rag.agent.new',
  'messages.rag.bot.new',
];

const EventBody = Type.Union([ChatappMessageRequest, ChatappEvent, ChatappAddOnEvent]);
export const EventAnswer = Type.Union([ChatappReply, ChatappAddOnReply]);

export function webhookRoute({ requireBot, verify, take }: WebhookDeps): Route {
  return route(
    {
      ...SENDER,
      id: 'bots.answer',
      work: 'model',
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
      events: CAUSED,
      parameters: WebhookPath,
      bodyContent: { 'application/json': { schema: EventBody, example: EVENT_EXAMPLE } },
      responses: {
        200: {
          description: "The bot's message; `{}` for events that need none.",
          schema: EventAnswer,
          example: { text: 'It is in the folder of the board.' },
        },
      },
      refusals: [404],
    },
    async ({ path, request, bytes, principal }) => {
      const bot = await requireBot(toBotReference(path));
      const { body, replayed } = await take(bot, await toJsonBody(request, bytes), principal);
      return Response.json(body, replayed ? { headers: { 'idempotent-replayed': 'true' } } : {});
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
export const platformOf = ({ workspaceId }: Bot): Principal => ({
  keyId: PLATFORM,
  workspaceId,
  userId: 'chatapp',
  email: '',
  scopes: new Set(['bots']),
  limits: {},
});
