import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import type { Clock } from '../../core/clock.ts';
import { ServiceError } from '../../core/errors.ts';
import type { Principal } from '../../core/principal.ts';
import { authorize } from '../../http/credentials.ts';
import { STATUS } from '../../http/failures.ts';
import type { Http } from '../../http/http.ts';
import { answer, json, parameters, refusals } from '../../http/input.ts';
import { component, described, integer } from '../../http/schemas.ts';
import { platformOf } from '../answer-event.ts';
import { type Bot, toBotReference } from '../bots.ts';
import { EVENT_EXAMPLE, EventAnswer } from '../event-schema.ts';
import { BotPath, Said } from '../schema.ts';
import { CAUSED, SENDER, type WebhookDeps } from './webhook.ts';

const BotTest = component('BotTest', 'A test of a bot.', {
  text: described(Said, 'What is said to the bot.'),
});

const Refused = Type.Object({ detail: Type.String() });
const BotTested = component('BotTested', 'What was sent to a bot, and what it answered.', {
  event: Type.Record(Type.String(), Type.Unknown(), { description: 'The event, as the platform sends one.' }),
  status: integer('The status that the webhook answers to it.'),
  answer: described(Type.Union([EventAnswer, Refused]), 'The body that it answers.'),
});

/** A test takes the way of a real event, without the connection: the token, the rights, the body, the operation. */
export function testEventRoutes(
  { plugin }: Http,
  { bots, tokens, events, clock }: WebhookDeps & { clock: Clock },
) {
  /** In the mode `key` the tester's own key sends the event. */
  const senderOf = async (bot: Bot, tester: Principal): Promise<Principal> => {
    if (bot.verification.mode === 'key') return tester;
    const { token, testKey } = await tokens.signTest(bot.verification);
    await tokens.verify(bot.verification, token, testKey);
    return platformOf(bot);
  };
  return new Elysia({ name: 'bots.test-event', tags: ['bots'] }).use(plugin).post(
    '/admin/api/workspaces/:workspace_id/bots/:bot_id/test-events',
    async ({ params, body, principal }) => {
      const bot = await bots.require(toBotReference(params));
      const event = toTestEvent(bot, {
        text: body.text,
        person: principal,
        id: crypto.randomUUID(),
        at: clock.now(),
      });
      try {
        const sender = await senderOf(bot, principal);
        authorize(sender, { credential: SENDER.in, scope: SENDER.scope }, bot.workspaceId);
        return { event, status: 200, answer: (await events.answerBody(bot, event, sender)).body };
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        return { event, status: STATUS[error.kind], answer: { detail: error.message } };
      }
    },
    {
      key: { in: 'administration', scope: 'admin' },
      work: 'model',
      events: CAUSED,
      audits: [],
      params: parameters(BotPath),
      body: json(BotTest, { example: { text: 'Where is the annual report?' } }),
      response: {
        200: answer({
          description: 'What was sent, and what was answered.',
          schema: BotTested,
          example: {
            event: EVENT_EXAMPLE,
            status: 200,
            answer: { text: 'It is in the folder of the board.' },
          },
        }),
        ...refusals(404),
      },
      detail: {
        operationId: 'bots.test',
        summary: 'Send a test event to a bot, and see what it answers',
        description:
          'The event is signed as the platform would sign it, and takes the way of a real one: it is verified as the bot is ' +
          'registered, and its conversation is kept. It fails where a real one would fail, and `status` says how. The ' +
          'signature is accepted once, and nowhere else. In the mode `key` the key of the caller sends the event.',
      },
    },
  );
}

type TestMessage = { text: string; person: Principal; id: string; at: Date };

/** A direct message as the platform sends it, in the format that the bot's tokens stand for, from the person who tests. A text that begins with the name of a command is that command. */
function toTestEvent(bot: Bot, { text, person, id, at }: TestMessage): Record<string, unknown> {
  const eventTime = at.toISOString();
  const user = {
    name: `users/${person.userId}`,
    displayName: person.email,
    email: person.email,
    type: 'HUMAN',
  };
  const space = {
    name: `spaces/test-${person.userId}`,
    type: 'DM',
    singleUserBotDm: true,
    spaceType: 'DIRECT_MESSAGE',
    spaceThreadingState: 'UNTHREADED_MESSAGES',
  };
  const [first = '', ...rest] = text.trim().split(/\s+/);
  const command = bot.commands.find(({ name }) => first === `/${name.replace(/^\//, '')}`);
  const message = {
    name: `${space.name}/messages/${id}`,
    sender: user,
    createTime: eventTime,
    text,
    argumentText: command === undefined ? text : rest.join(' '),
    ...(command === undefined ? {} : { slashCommand: { commandId: String(command.id) } }),
    thread: { name: `${space.name}/threads/${id}` },
    space,
  };
  // The tokens of a service account are those of an add-on, which has a format of its own.
  if (bot.verification.service_account_email !== undefined)
    return {
      commonEventObject: { hostApp: 'CHAT' },
      chat: { user, eventTime, messagePayload: { message, space } },
    };
  return {
    type: 'MESSAGE',
    eventTime,
    message,
    user,
    space,
    configCompleteRedirectUrl: '',
    common: { hostApp: 'CHAT' },
  };
}
