// An event is answered once, in time, whatever the conversation behind it does. Several answerers on one database stand
// for several processes.

import { beforeEach, describe, expect, test } from 'bun:test';
import { createEventAnswerer } from '../../src/bots/answer-event.ts';
import type { Bot } from '../../src/bots/bots.ts';
import type { ChatappEvent } from '../../src/bots/event-schema.ts';
import { createReplyStore } from '../../src/bots/replies.ts';
import type { Converse } from '../../src/chat/converse.ts';
import { systemClock } from '../../src/core/clock.ts';
import {
  forbidden,
  notFound,
  tooManyRequests,
  unavailable,
  upstreamFailed,
  upstreamTimeout,
  valueError,
} from '../../src/core/errors.ts';
import { silentLog, testDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';

const database = await shared(testDatabase());

const bot: Bot = {
  workspaceId: 'acme',
  id: 'bot',
  verification: { mode: 'key', audience: null, jwks: null, jwks_anywhere: false },
  agentId: 'support',
  welcomeText: 'Hello.',
  commands: [{ id: 1, name: '/help', reply: 'Help.', agent_id: null }],
  createdAt: new Date(),
  updatedAt: new Date(),
};

type Asked = Parameters<Converse['ask']>[0];
type Told = Parameters<Converse['reply']>[0];

/** A fake conversation: it does what a test says, and keeps what it was told. */
let fakeAsk: (asked: Asked) => Promise<string>;
let asked: Asked[];
let told: Told[];
const fakeConverse: Converse = {
  ask(turn) {
    asked.push(turn);
    return fakeAsk(turn);
  },
  async reply(turn) {
    told.push(turn);
    return turn.reply;
  },
};
beforeEach(() => {
  asked = [];
  told = [];
  fakeAsk = async ({ message }) => `You said: ${message}`;
});

const createProcess = (answerTimeoutMs = 5_000) =>
  createEventAnswerer({
    converse: fakeConverse,
    replies: createReplyStore(database.sql),
    answerTimeoutMs,
    clock: systemClock,
    log: silentLog,
  }).answer;

const messageEvent = (text: string, fields: object = {}): ChatappEvent => ({
  type: 'MESSAGE',
  eventTime: new Date().toISOString(),
  message: { name: `spaces/dm/messages/${crypto.randomUUID()}`, text, ...fields },
  user: { name: 'users/1', email: 'Ada@Example.com', type: 'HUMAN' },
  space: { name: 'spaces/dm', type: 'DM' },
});

const countReplies = async (): Promise<number> =>
  (await database.sql<{ count: number }[]>`SELECT count(*) AS count FROM bot_replies`)[0]?.count ?? 0;

describe('a message', () => {
  test('becomes a turn of the conversation of its space', async () => {
    const event = messageEvent('hi');
    const { message } = await createProcess()(bot, event);
    expect(message).toEqual({ text: 'You said: hi' });
    expect(asked).toEqual([
      {
        workspaceId: 'acme',
        channel: 'google_chat',
        channelPlugin: 'chatapp',
        channelId: 'bot',
        channelSessionId: 'spaces/dm',
        user: 'ada@example.com',
        channelMessageId: event.message?.name ?? '',
        requestKey: expect.any(String),
        message: 'hi',
        agentId: 'support',
        signal: expect.any(AbortSignal),
      },
    ]);
  });

  test('that comes again is answered as before, by any process, without asking', async () => {
    const event = messageEvent('once');
    const first = await createProcess()(bot, event);
    fakeAsk = async () => 'something else';
    const again = await createProcess()(bot, event);
    expect(again).toEqual({ message: first.message, replayed: true });
    expect(asked.length).toBe(1);
    const elsewhere = await createProcess()({ ...bot, id: 'other' }, event);
    expect(elsewhere.replayed).toBe(false);
  });

  test('that many processes get at once has one answer, though each asks', async () => {
    let answers = 0;
    fakeAsk = async () => {
      const answer = `answer ${++answers}`;
      await Bun.sleep(Math.random() * 20);
      return answer;
    };
    const before = await countReplies();
    const event = messageEvent('at once');
    const processes = [createProcess(), createProcess(), createProcess()];
    const all = await Promise.all(
      Array.from({ length: 30 }, (_, index) => processes[index % 3]?.(bot, event)),
    );
    expect(new Set(all.map((answered) => answered?.message.text)).size).toBe(1);
    expect(new Set(asked.map(({ channelMessageId }) => channelMessageId)).size).toBe(1);
    expect(all.filter((answered) => answered?.replayed === false).length).toBe(1);
    expect(await countReplies()).toBe(before + 1);
  });

  test('of a key that may not ask the agent is refused, as its sender can mend it', async () => {
    fakeAsk = () => Promise.reject(forbidden('The API key lacks a scope'));
    await expect(createProcess()(bot, messageEvent('hi'))).rejects.toMatchObject({ kind: 'forbidden' });
  });

  const FAILURES: [string, () => Error][] = [
    ['is unknown', () => notFound('no such model')],
    ['fails', () => upstreamFailed('it failed')],
    ['takes too long', () => upstreamTimeout('too long')],
    ['cannot be had', () => unavailable('down')],
    ['has too much to do', () => tooManyRequests('busy')],
    ['does not take the message', () => valueError(['body', 'message'], 'too long', 'x')],
  ];
  test.each(FAILURES)(
    'whose model %s is answered with an apology, and asks again the next time',
    async (_title, fail) => {
      const event = messageEvent('sorry');
      fakeAsk = () => Promise.reject(fail());
      const before = await countReplies();
      const first = await createProcess()(bot, event);
      expect(first.message.text).toStartWith('Sorry');
      expect(await countReplies()).toBe(before);
      fakeAsk = async () => 'now';
      expect(await createProcess()(bot, event)).toEqual({ message: { text: 'now' }, replayed: false });
      expect(await createProcess()(bot, event)).toEqual({ message: { text: 'now' }, replayed: true });
    },
  );

  test('is not answered while the database is away, nor by a mistake of ours', async () => {
    const lost = Object.assign(new Error('lost'), { code: 'CONNECTION_CLOSED' });
    const failures = [
      lost,
      unavailable('The database cannot be reached', { cause: lost }),
      new TypeError('x'),
    ];
    for (const failure of failures) {
      fakeAsk = () => Promise.reject(failure);
      await expect(createProcess()(bot, messageEvent('x'))).rejects.toBe(failure);
    }
  });

  test('that takes too long is told so in time, and has its answer when it comes again', async () => {
    const event = messageEvent('slow');
    const { promise, resolve } = Promise.withResolvers<string>();
    fakeAsk = () => promise;
    const first = await createProcess(50)(bot, event);
    expect(first.message.text).toContain('still thinking');
    expect(asked[0]?.signal.aborted).toBe(true);
    resolve('at last');
    expect(await createProcess()(bot, event)).toEqual({ message: { text: 'at last' }, replayed: false });
  });

  test('whose model answers nothing is answered with nothing', async () => {
    fakeAsk = async () => '';
    expect((await createProcess()(bot, messageEvent('x'))).message).toEqual({});
  });
});

describe('answers that stand before', () => {
  test('are told to the conversation: a welcome without a message, a command with its words', async () => {
    const welcome = { ...messageEvent(''), type: 'ADDED_TO_SPACE', message: null };
    expect((await createProcess()(bot, welcome)).message).toEqual({ text: 'Hello.' });
    const help = messageEvent('/help me', { argumentText: 'me', slashCommand: { commandId: '1' } });
    expect((await createProcess()(bot, help)).message).toEqual({ text: 'Help.' });
    expect(told).toMatchObject([
      { message: null, reply: 'Hello.', channelSessionId: 'spaces/dm' },
      { message: '/help me', reply: 'Help.', channelMessageId: help.message?.name ?? '' },
    ]);
    expect(asked).toEqual([]);
  });
});

describe('being added by a mention', () => {
  const added = (text: string): ChatappEvent => ({ ...messageEvent(text), type: 'ADDED_TO_SPACE' });

  test('is two turns of the conversation, the welcome first, told apart by their ids', async () => {
    const event = added('question');
    const { message } = await createProcess()(bot, event);
    expect(message).toEqual({ text: 'Hello.\n\nYou said: question' });
    expect(told).toMatchObject([{ message: null, reply: 'Hello.', channelSessionId: 'spaces/dm' }]);
    const name = event.message?.name ?? '';
    expect(asked).toMatchObject([{ message: 'question', channelMessageId: name }]);
    expect(told[0]?.channelMessageId).not.toBe(name);
    await createProcess()(bot, event);
    expect([told.length, asked.length]).toEqual([1, 1]);
  });

  test('has the welcome also where the answer fails or is late, and asks again the next time', async () => {
    const event = added('question');
    fakeAsk = () => Promise.reject(upstreamFailed('it failed'));
    const failed = await createProcess()(bot, event);
    expect(failed.message.text).toStartWith('Hello.\n\nSorry');
    const { promise, resolve } = Promise.withResolvers<string>();
    fakeAsk = () => promise;
    const late = await createProcess(50)(bot, event);
    expect(late.message.text).toStartWith('Hello.\n\nI am still thinking');
    resolve('at last');
    expect((await createProcess()(bot, event)).message).toEqual({ text: 'Hello.\n\nat last' });
    // The conversation takes the welcome, which comes with the same id, for the one that it has.
    expect(new Set(told.map(({ channelMessageId }) => channelMessageId)).size).toBe(1);
  });
});

test('replies are deleted when they are old', async () => {
  const replies = createReplyStore(database.sql);
  const owner = { workspaceId: 'acme', id: 'old' };
  const old = new Date(Date.now() - 8 * 86_400_000);
  for (const [replayKey, at] of [
    ['old', old],
    ['new', new Date()],
  ] as const)
    await replies.keep(owner, { replayKey, message: { text: 'x' }, at });
  expect(await replies.deleteSome(new Date(old.getTime() + 1))).toBe(1);
  expect(await replies.deleteSome(new Date(old.getTime() + 1))).toBe(0);
  expect(await replies.find(owner, 'new')).toEqual({ text: 'x' });
});
