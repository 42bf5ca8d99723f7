// A recorded conversation: added → welcome → messages → slash command → card → removed, as the platform sends it.

import { describe, expect, test } from 'bun:test';
import { shared } from '../../support/shared.ts';
import {
  createSigner,
  DIRECT,
  isReplay,
  messageEvent,
  registerBot,
  replyOf,
  serveKeys,
  spaceEvent,
  USER,
} from '../support/bots.ts';
import { expectStatus } from '../support/caller.ts';
import { startSetting } from '../support/setting.ts';

const WELCOME = 'Hello. Ask me about our documents.';
const HELP = 'Ask me anything about our documents.';
const APPROVED = 'Approved.';

const setting = await shared(startSetting());
const signer = await createSigner();
const keys = await shared(serveKeys(signer));
const bot = await registerBot(setting, keys.url, {
  welcome_text: WELCOME,
  commands: [
    { id: 1, name: '/help', reply: HELP },
    { id: 2, name: 'approve', reply: APPROVED },
    { id: 3, name: '/ask', agent_id: 'expert' },
  ],
});

const send = async (event: object) => bot.send(event, `Bearer ${await signer.token()}`);

/** Card clicks, as the platform sends them: the message is the card's own. */
const click = (name: string, more: object = {}) =>
  spaceEvent('CARD_CLICKED', {
    message: {
      name: 'spaces/direct/messages/card',
      sender: { name: 'users/bot', type: 'BOT' },
      space: DIRECT,
    },
    action: { actionMethodName: name, parameters: [{ key: 'request', value: '17' }] },
    common: {
      invokedFunction: name,
      parameters: { request: '17' },
      formInputs: { note: { stringInputs: { value: ['ok'] } } },
    },
    ...more,
  });

describe('a conversation', () => {
  test('from being added to being removed', async () => {
    expect(replyOf(await send(spaceEvent('ADDED_TO_SPACE')))).toEqual({ text: WELCOME });
    expect(replyOf(await send(messageEvent('first words'))).text).toContain('first words');
    expect(replyOf(await send(messageEvent('second words'))).text).toContain('second words');
    const help = messageEvent('/help', { argumentText: '', slashCommand: { commandId: '1' } });
    expect(replyOf(await send(help))).toEqual({ text: HELP });
    expect(replyOf(await send(click('approve')))).toEqual({
      actionResponse: { type: 'NEW_MESSAGE' },
      text: APPROVED,
    });
    expect(replyOf(await send(spaceEvent('REMOVED_FROM_SPACE')))).toEqual({});
  });

  test('gives every event that comes again the answer that it got', async () => {
    const events = [
      spaceEvent('ADDED_TO_SPACE'),
      messageEvent('again'),
      messageEvent('/help', { slashCommand: { commandId: '1' } }),
      click('approve'),
    ];
    for (const event of events) {
      const first = await send(event);
      const second = await send(event);
      expect([isReplay(first), isReplay(second)]).toEqual([false, true]);
      expect(replyOf(second)).toEqual(replyOf(first));
    }
  });

  test('takes two clicks on one card for two', async () => {
    const first = click('approve', { eventTime: '2026-01-31T10:00:00.1Z' });
    const second = click('approve', { eventTime: '2026-01-31T10:00:00.2Z' });
    expect(isReplay(await send(first))).toBe(false);
    expect(isReplay(await send(second))).toBe(false);
    expect(isReplay(await send(second))).toBe(true);
  });

  test('twenty times at once is answered once', async () => {
    const event = messageEvent('all at once');
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(event)));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.filter((answer) => !isReplay(answer)).length).toBe(1);
    expect(replyOf(await send(event)).text).toContain('all at once');
  });
});

describe('being added by a mention', () => {
  const added = (text: string, argument: string, more: object = {}) => {
    const { message } = messageEvent(text, { argumentText: argument, ...more }) as { message: object };
    return spaceEvent('ADDED_TO_SPACE', { message });
  };

  test('is answered by the welcome and the answer in one, and likewise when it comes again', async () => {
    const event = added('@Bot where is the report', ' where is the report');
    const first = await send(event);
    expect(replyOf(first).text).toStartWith(`${WELCOME}\n\n`);
    expect(replyOf(first).text).toContain('where is the report');
    expect(replyOf(first).text).not.toContain('@Bot');
    const second = await send(event);
    expect(isReplay(second)).toBe(true);
    expect(replyOf(second)).toEqual(replyOf(first));
  });

  test('is one event with the message that was sent, should that come too', async () => {
    const event = added('@Bot once', ' once') as { message: { name: string } };
    const first = await send(event);
    const message = await send(messageEvent('@Bot once', event.message));
    expect(isReplay(message)).toBe(true);
    expect(replyOf(message)).toEqual(replyOf(first));
  });

  test('with a command is answered by the welcome and the reply of the command', async () => {
    const event = added('@Bot /help', '', { slashCommand: { commandId: '1' } });
    expect(replyOf(await send(event))).toEqual({ text: `${WELCOME}\n\n${HELP}` });
  });

  test('alone, which asks nothing, is answered by the welcome', async () => {
    expect(replyOf(await send(added('@Bot', '')))).toEqual({ text: WELCOME });
    expect(replyOf(await send(added('', '', { text: undefined, argumentText: undefined })))).toEqual({
      text: WELCOME,
    });
  });

  test('by another bot is answered by the welcome alone', async () => {
    const event = added('@Bot beep', ' beep', { sender: { ...USER, type: 'BOT' } });
    expect(replyOf(await send(event))).toEqual({ text: WELCOME });
  });

  test('is answered without a welcome where the bot has none', async () => {
    const silent = await registerBot(setting, keys.url);
    const authorization = await signer.token();
    const { text = '' } = replyOf(await silent.send(added('@Bot what now', ' what now'), authorization));
    expect(text).toContain('what now');
    expect(text).not.toStartWith('\n');
    expect(replyOf(await silent.send(added('@Bot', ''), authorization))).toEqual({});
  });
});

describe('a message', () => {
  test('is read without the mention, where the platform tells it apart', async () => {
    const mentioned = messageEvent('@Bot what is new', { argumentText: ' what is new ' });
    const { text } = replyOf(await send(mentioned));
    expect(text).toContain('what is new');
    expect(text).not.toContain('@Bot');
    const plain = messageEvent('plain words', { argumentText: undefined });
    expect(replyOf(await send(plain)).text).toContain('plain words');
  });

  test('of another bot is not answered', async () => {
    const sender = { ...USER, type: 'BOT' };
    expect(replyOf(await send(messageEvent('beep', { sender })))).toEqual({});
  });

  test('without text is told so', async () => {
    const empty = messageEvent('', { argumentText: undefined, text: undefined });
    expect(replyOf(await send(empty)).text).toBeString();
  });

  test('with a command that is not registered, or has an agent, goes to an agent', async () => {
    const unknown = messageEvent('/nope about it', {
      argumentText: 'about it',
      slashCommand: { commandId: '99' },
    });
    expect(replyOf(await send(unknown)).text).toContain('about it');
    const expert = messageEvent('/ask deeply', { argumentText: 'deeply', slashCommand: { commandId: '3' } });
    expect(replyOf(await send(expert)).text).toContain('deeply');
  });

  test('that is answered at length is cut to what the platform takes, between two characters', async () => {
    const { text = '' } = replyOf(await send(messageEvent('😀'.repeat(20_000))));
    const bytes = Buffer.byteLength(text);
    expect(bytes).toBeLessThanOrEqual(32_000);
    expect(bytes).toBeGreaterThan(31_996);
    expect(text.isWellFormed()).toBe(true);
    expect(text).not.toContain('\ufffd');
  });
});

describe('other events', () => {
  test('a command without a message, and a card that no command is named after', async () => {
    const app = spaceEvent('APP_COMMAND', {
      appCommandMetadata: { appCommandId: 1, appCommandType: 'QUICK_COMMAND' },
    });
    expect(replyOf(await send(app))).toEqual({ text: HELP });
    const { text } = replyOf(await send(click('reject')));
    for (const word of ['reject', 'request: 17', 'note: ok']) expect(text).toContain(word);
  });

  test('that ask for nothing get nothing', async () => {
    for (const type of ['APP_HOME', 'WIDGET_UPDATED', 'SUBMIT_FORM'])
      expect(replyOf(await send(spaceEvent(type)))).toEqual({});
    expect(replyOf(await send(messageEvent('x', {}, { type: 'WIDGET_UPDATED' })))).toEqual({});
    expect(replyOf(await send(spaceEvent('CARD_CLICKED')))).toEqual({});
    const silent = await registerBot(setting, keys.url);
    const added = await silent.send(spaceEvent('ADDED_TO_SPACE'), await signer.token());
    expect(replyOf(added)).toEqual({});
  });

  test('a change of the registration holds from the next event on', async () => {
    const changing = await registerBot(setting, keys.url, { welcome_text: 'one' });
    const added = async () =>
      replyOf(
        await changing.send(
          spaceEvent('ADDED_TO_SPACE', { eventTime: crypto.randomUUID() }),
          await signer.token(),
        ),
      );
    expect(await added()).toEqual({ text: 'one' });
    const verification = { mode: 'project_number', audience: '123456789012', jwks: keys.url };
    expectStatus(await changing.put({ verification, welcome_text: 'two' }), 200);
    expect(await added()).toEqual({ text: 'two' });
    const path = `/admin/api/workspaces/${setting.workspace}/bots/${changing.id}`;
    expectStatus(await setting.call('DELETE', path, { key: setting.adminKey }), 204);
    expectStatus(await changing.send(spaceEvent('ADDED_TO_SPACE'), await signer.token()), 404);
  });
});
