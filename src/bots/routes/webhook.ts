import { type Static, Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import type { Principal } from '../../core/principal.ts';
import type { Http } from '../../http/http.ts';
import { answer, bytes, parameters, refusals } from '../../http/input.ts';
import type { VerifyToken } from '../../http/routes.ts';
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
export const SENDER = { in: 'key-or-token', scope: 'bots' } as const;

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

export function webhookRoutes({ plugin }: Http, { requireBot, verify, take }: WebhookDeps) {
  const verifyToken: VerifyToken = async (token, { workspace_id, bot_id }) => {
    const bot = await requireBot({ workspaceId: String(workspace_id), id: String(bot_id) });
    await verify(bot.verification, token);
    return platformOf(bot);
  };
  return new Elysia({ name: 'bots.webhook', tags: ['bots'] }).use(plugin).post(
    '/chatapp/:workspace_id/:bot_id',
    async ({ params, request, body, principal }) => {
      const bot = await requireBot(toBotReference(params));
      const taken = await take(bot, await toJsonBody(request, body), principal);
      return Response.json(taken.body, taken.replayed ? { headers: { 'idempotent-replayed': 'true' } } : {});
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
