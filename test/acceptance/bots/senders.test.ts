// Whoever sends an event gets the answers and joins the conversations of their own events, whatever the event claims.

import { describe, expect, test } from 'bun:test';
import { shared } from '../../support/shared.ts';
import {
  type BotClient,
  createSigner,
  DIRECT,
  isReplay,
  messageEvent,
  PROJECT,
  registerBot,
  replyOf,
  serveKeys,
  USER,
} from '../support/bots.ts';
import { bodyOf } from '../support/caller.ts';
import { startSetting } from '../support/setting.ts';

const setting = await shared(startSetting());
const signer = await createSigner();
const keys = await shared(serveKeys(signer));

const newBot = () => registerBot(setting, keys.url, { welcome_text: 'Hello.' });
const newSender = async (email?: string) =>
  (await setting.people.newKey({ scopes: ['bots'], ...(email === undefined ? {} : { email }) })).key;
const platform = () => signer.token({ aud: PROJECT });

const STRANGER = { ...USER, name: 'users/2002', email: 'eve@example.com' };
const ROOM = { name: 'spaces/room', type: 'ROOM' };

type Session = { chat_session_id: number; channel_id: string; message_count: number };

/** How many messages each conversation of the bot has. */
async function conversationsOf({ id }: BotClient): Promise<number[]> {
  const { items } = bodyOf<{ items: Session[] }>(
    await setting.call('GET', `/api/v1/chat/sessions/${setting.workspace}?channel=google_chat&limit=100`, {
      headers: { 'svc-key': setting.adminKey },
    }),
    200,
  );
  return items
    .filter(({ channel_id }) => channel_id === id)
    .map(({ message_count }) => message_count)
    .sort();
}

describe('a key', () => {
  test('gets no answer that the platform was given, whatever it says of message, text and person', async () => {
    const bot = await newBot();
    const stranger = await newSender();
    const name = 'spaces/direct/messages/known';
    const event = messageEvent('the secret plan', { name });
    expect(replyOf(await bot.send(event, await platform())).text).toContain('the secret plan');
    const attempts = [
      event,
      messageEvent('anything', { name }),
      messageEvent('anything', { name, sender: STRANGER }, { user: STRANGER }),
      { ...messageEvent('', { name }), type: 'ADDED_TO_SPACE' },
    ];
    for (const attempt of attempts) expect(isReplay(await bot.send(attempt, stranger))).toBe(false);
    const other = await bot.send(messageEvent('anything', { name }), stranger);
    expect(replyOf(other).text).not.toContain('secret');
    expect(isReplay(await bot.send(event, await platform()))).toBe(true);
  });

  test('joins no conversation that the platform, or another person, has', async () => {
    const bot = await newBot();
    const room = { sender: USER, space: ROOM, thread: { name: 'spaces/room/threads/1' } };
    for (const sender of [await platform(), await newSender(), await newSender()]) {
      replyOf(await bot.send(messageEvent('in the direct message'), sender));
      replyOf(await bot.send(messageEvent('in the room', room, { space: ROOM }), sender));
    }
    expect(await conversationsOf(bot)).toEqual([2, 2, 2, 2, 2, 2]);
  });

  test('joins no direct message of another person that it names', async () => {
    const bot = await newBot();
    const sender = await newSender();
    replyOf(await bot.send(messageEvent('as Ada'), sender));
    replyOf(await bot.send(messageEvent('as Eve', { sender: STRANGER }, { user: STRANGER }), sender));
    expect(await conversationsOf(bot)).toEqual([2, 2]);
  });

  test('goes on with the conversation of its owner, and gets their answers, when it is replaced', async () => {
    const bot = await newBot();
    const { key, user_email: email } = await setting.people.newKey({ scopes: ['bots'] });
    const event = messageEvent('first');
    replyOf(await bot.send(event, key));
    const replacement = await newSender(email);
    expect(isReplay(await bot.send(event, replacement))).toBe(true);
    replyOf(await bot.send(messageEvent('second'), replacement));
    expect(await conversationsOf(bot)).toEqual([4]);
  });
});

describe('an event is answered as before', () => {
  const name = 'spaces/direct/messages/same';
  const changed: [string, object][] = [
    ['text', messageEvent('other words', { name })],
    ['mention', messageEvent('words', { name, argumentText: 'other' })],
    ['person', messageEvent('words', { name, sender: STRANGER }, { user: STRANGER })],
    ['space', messageEvent('words', { name, space: ROOM }, { space: ROOM })],
    ['command', messageEvent('words', { name, slashCommand: { commandId: '1' } })],
  ];
  test.each(changed)('only with the same %s', async (_difference, other) => {
    const bot = await newBot();
    const event = messageEvent('words', { name });
    for (const sender of [await platform(), await newSender()]) {
      const first = replyOf(await bot.send(event, sender));
      const different = await bot.send(other, sender);
      expect(isReplay(different)).toBe(false);
      expect(replyOf(different).text).not.toMatch(/^Sorry/);
      const again = await bot.send({ ...event, eventTime: 'later' }, sender);
      expect([isReplay(again), replyOf(again)]).toEqual([true, first]);
    }
  });

  test('in the same direct message, whichever member says that it is one', async () => {
    const bot = await newBot();
    const sender = await newSender();
    for (const space of [DIRECT, { name: DIRECT.name, spaceType: 'DIRECT_MESSAGE' }])
      replyOf(await bot.send(messageEvent('words', { space }, { space }), sender));
    expect(await conversationsOf(bot)).toEqual([4]);
  });
});
