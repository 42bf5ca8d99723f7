// What an event may look like: all that real platforms send, and an exact 422 for what is wrong.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { shared } from '../../support/shared.ts';
import { messageEvent, registerBot, replyOf, spaceEvent, USER } from '../support/bots.ts';
import { bodyOf, type CallOptions, expectRefusal, expectStatus } from '../support/caller.ts';
import * as entry from '../support/entries.ts';
import { startSetting } from '../support/setting.ts';

const setting = await shared(startSetting());
const bot = await registerBot(setting, null, { welcome_text: 'Hello.' });

const send = (event: object) => bot.send(event, setting.adminKey);
const post = (options: CallOptions) =>
  setting.call('POST', bot.path, {
    ...options,
    headers: { authorization: setting.adminKey, ...options.headers },
  });
const entriesOf = async (options: CallOptions) =>
  bodyOf<{ detail: entry.Entry[] }>(await post(options), 422).detail;

const FIELDS = ['type', 'eventTime', 'message', 'user', 'space', 'configCompleteRedirectUrl', 'common'];

describe('a message', () => {
  test('has all seven fields; so has an event of an unknown type', async () => {
    expect(await entriesOf({ json: {} })).toEqual(FIELDS.map((field) => entry.missing(['body', field], {})));
    for (const type of ['MESSAGE', 'message', 'SOMETHING_NEW', '']) {
      for (const field of FIELDS.slice(1)) {
        const json = { ...messageEvent('x'), type, [field]: undefined };
        expect(await entriesOf({ json })).toEqual([
          entry.missing(['body', field], JSON.parse(JSON.stringify(json))),
        ]);
      }
    }
  });

  test('has fields of their types', async () => {
    const json = {
      type: 'MESSAGE',
      eventTime: 17,
      message: { name: 1, text: [], sender: 'x', thread: { name: {} }, slashCommand: { commandId: 1 } },
      user: [],
      space: { name: true, singleUserBotDm: 'perhaps' },
      configCompleteRedirectUrl: null,
      common: 'x',
    };
    const notText = (loc: entry.Entry['loc'], input: unknown) =>
      entry.notType('string', ['body', ...loc], input);
    expect(await entriesOf({ json })).toEqual([
      notText(['eventTime'], 17),
      notText(['message', 'name'], 1),
      notText(['message', 'text'], []),
      entry.notObject(['body', 'message', 'sender'], 'x'),
      notText(['message', 'thread', 'name'], {}),
      notText(['message', 'slashCommand', 'commandId'], 1),
      entry.notObject(['body', 'user'], []),
      notText(['space', 'name'], true),
      entry.notBoolean(['body', 'space', 'singleUserBotDm'], 'perhaps'),
      notText(['configCompleteRedirectUrl'], null),
      entry.notType('dict', ['body', 'common'], 'x'),
    ]);
    expect(await entriesOf({ json: { ...messageEvent('x'), type: 17 } })).toEqual([
      entry.notType('string', ['body', 'type'], 17),
    ]);
  });

  test('may leave out every nested field, and have fields that nobody knows', async () => {
    const bare = { ...messageEvent('x'), message: {}, user: {}, space: {}, common: {} };
    expectStatus(await send(bare), 200);
    const rich = messageEvent('rich', { attachment: [{ a: 1 }], annotations: [{ type: 'USER_MENTION' }] });
    const extended = {
      ...rich,
      common: { timeZone: { id: 'UTC' }, invokedFunction: 'x' },
      more: { big: 1e20 },
    };
    expect(replyOf(await send(extended)).text).toContain('rich');
    const nulls = messageEvent('nulls', {
      sender: null,
      thread: null,
      formattedText: null,
      slashCommand: null,
    });
    expect(replyOf(await send(nulls)).text).toContain('nulls');
  });
});

describe('another event', () => {
  const TYPES = [
    'ADDED_TO_SPACE',
    'REMOVED_FROM_SPACE',
    'CARD_CLICKED',
    'APP_COMMAND',
    'APP_HOME',
    'WIDGET_UPDATED',
    'SUBMIT_FORM',
  ];
  test.each(TYPES)('%s needs its time, its person and its space alone', async (type) => {
    expectStatus(await send(spaceEvent(type)), 200);
    expectStatus(await send(spaceEvent(type, { message: null, common: null })), 200);
    expect(await entriesOf({ json: { type } })).toEqual(
      ['eventTime', 'user', 'space'].map((field) => entry.missing(['body', field], { type })),
    );
    const json = spaceEvent(type, { message: 'x', common: [], configCompleteRedirectUrl: 1 });
    expect(await entriesOf({ json })).toEqual([
      entry.notObject(['body', 'message'], 'x'),
      entry.notType('string', ['body', 'configCompleteRedirectUrl'], 1),
      entry.notType('dict', ['body', 'common'], []),
    ]);
  });
});

describe('a body', () => {
  const utf8 = (text: string) => new TextEncoder().encode(text);

  test('that is no object, or no JSON, is refused with its place', async () => {
    expect(await entriesOf({})).toEqual([entry.missing(['body'], null)]);
    expect(await entriesOf({ body: utf8('{"type":') })).toMatchObject([{ type: 'json_invalid' }]);
    expect(await entriesOf({ json: [1] })).toEqual([entry.notObject(['body'], [1])]);
    expect(await entriesOf({ json: 'x' })).toEqual([entry.notObject(['body'], 'x')]);
    expectRefusal(await post({ body: utf8('x'), headers: { 'content-type': 'text/plain' } }), 415);
  });

  test('with text that no database can hold is refused with its place', async () => {
    for (const text of ['a\u0000', '\ud800']) {
      const [refused] = await entriesOf({ json: messageEvent(text, { argumentText: 'x' }) });
      expect(refused?.loc).toEqual(['body', 'message', 'text']);
    }
  });

  test('of more than a megabyte is refused with 413', async () => {
    expectRefusal(await send(messageEvent('x'.repeat(1_100_000))), 413);
    expectStatus(await send(messageEvent('x'.repeat(500_000))), 200);
  });

  test('of any kind never makes the service fail', async () => {
    const value = fc.anything({ maxDepth: 3, withNullPrototype: false });
    const message = fc.record(
      {
        name: value,
        text: value,
        argumentText: value,
        sender: value,
        space: value,
        thread: value,
        slashCommand: value,
      },
      { requiredKeys: [] },
    );
    const type = fc.constantFrom(
      'MESSAGE',
      'ADDED_TO_SPACE',
      'CARD_CLICKED',
      'APP_COMMAND',
      'WIDGET_UPDATED',
      'X',
    );
    const event = fc.record({
      type,
      eventTime: fc.oneof(fc.string({ unit: 'binary' }), value),
      message: fc.oneof(message, value),
      user: fc.constantFrom<unknown>(USER, {}, 1),
      space: fc.oneof(fc.constant({ name: 'spaces/x' }), value),
      common: fc.oneof(fc.object(), value),
      configCompleteRedirectUrl: fc.constantFrom('x', 1),
      action: value,
      appCommandMetadata: value,
    });
    await fc.assert(
      fc.asyncProperty(event, async (sent) => {
        const text = JSON.stringify(sent, (_key, item: unknown) =>
          typeof item === 'bigint' ? String(item) : item,
        );
        const { status } = await post({ body: utf8(text), headers: { 'content-type': 'application/json' } });
        expect([200, 422]).toContain(status);
      }),
      { numRuns: 300 },
    );
    expect(setting.service.child.output()).not.toContain('unexpected failure');
  });
});

test('names in the path that nothing is called', async () => {
  const unknown = await setting.call('POST', `/chatapp/acme/${'x'.repeat(5_000)}`, {
    headers: { authorization: setting.adminKey },
    json: messageEvent('x'),
  });
  expectRefusal(unknown, 404);
  const bad = await setting.call('POST', '/chatapp/acme/%00', {
    headers: { authorization: setting.adminKey },
  });
  expectStatus(bad, 422);
  const both = await setting.call('POST', '/chatapp/acme/%ff', {});
  expect(bodyOf<{ detail: entry.Entry[] }>(both, 422).detail.map(({ loc }) => loc)).toEqual([
    ['path', 'bot_id'],
    ['header', 'authorization'],
  ]);
});
