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
import { type Bot, type BotReference, toBotReference } from '../bot.ts';
import { EVENT_EXAMPLE } from '../examples.ts';
import { BotPath, Said } from '../schema.ts';
import { toTestEvent } from '../test-event.ts';
import type { SignTest } from '../test-issuer.ts';
import { CAUSED, EventAnswer, platformOf, SENDER, type TakeEvent } from './webhook.ts';

export type TestEventDeps = {
  /** Throws 404. */
  requireBot(reference: BotReference): Promise<Bot>;
  sign: SignTest;
  take: TakeEvent;
  clock: Clock;
};

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
export function testEventRoutes({ plugin }: Http, { requireBot, sign, take, clock }: TestEventDeps) {
  /** In the mode `key` the tester's own key sends the event. */
  const senderOf = async (bot: Bot, tester: Principal): Promise<Principal> => {
    if (bot.verification.mode === 'key') return tester;
    const { token, verify } = await sign(bot.verification);
    await verify(bot.verification, token);
    return platformOf(bot);
  };
  return new Elysia({ name: 'bots.test-event', tags: ['bots'] }).use(plugin).post(
    '/admin/api/workspaces/:workspace_id/bots/:bot_id/test-events',
    async ({ params, body, principal }) => {
      const bot = await requireBot(toBotReference(params));
      const event = toTestEvent(bot, {
        text: body.text,
        person: principal,
        id: crypto.randomUUID(),
        at: clock.now(),
      });
      try {
        const sender = await senderOf(bot, principal);
        authorize(sender, { credential: SENDER.in, scope: SENDER.scope }, bot.workspaceId);
        return { event, status: 200, answer: (await take(bot, event, sender)).body };
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
