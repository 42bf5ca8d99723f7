// Chat apps that are Google Workspace add-ons: the same bots by events of another format, answered in that format.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { shared } from '../../support/shared.ts';
import {
  addOnEvent,
  addOnMessage,
  addOnTextOf,
  createBotClient,
  createSigner,
  DIRECT,
  identityFor,
  isReplay,
  messageEvent,
  registerBot,
  replyOf,
  serveKeys,
  USER,
} from '../support/bots.ts';
import { bodyOf, expectRefusal, expectStatus } from '../support/caller.ts';
import * as entry from '../support/entries.ts';
import { startSetting } from '../support/setting.ts';

const WELCOME = 'Hello. Ask me about our documents.';
const HELP = 'Ask me anything about our documents.';
const URL_OF_WEBHOOK = 'https://bots.example/chatapp/acme/bot';
const ACCOUNT = 'service-123456789012@gcp-sa-gsuiteaddons.iam.gserviceaccount.com';

const setting = await shared(startSetting());
const signer = await createSigner();
const keys = await shared(serveKeys(signer));
const verificationBy = (account: string | null) => ({
  mode: 'endpoint_url',
  audience: URL_OF_WEBHOOK,
  jwks: keys.url,
  service_account_email: account,
});
const bot = createBotClient(setting);
const commands = [
  { id: 1, name: '/help', reply: HELP },
  { id: 2, name: 'approve', reply: 'Approved.' },
];
expectStatus(await bot.put({ verification: verificationBy(ACCOUNT), welcome_text: WELCOME, commands }), 200);

const tokenOf = (email: string, claims: object = {}) =>
  signer.token({ ...identityFor(URL_OF_WEBHOOK), email, ...claims });
const send = async (event: object) => bot.send(event, `Bearer ${await tokenOf(ACCOUNT)}`);
const entriesOf = async (event: object) => bodyOf<{ detail: entry.Entry[] }>(await send(event), 422).detail;

describe('a conversation with an add-on', () => {
  test('from being added to being removed is answered in the format of add-ons', async () => {
    expect(addOnTextOf(await send(addOnEvent('addedToSpacePayload')))).toBe(WELCOME);
    expect(addOnTextOf(await send(addOnMessage('first words')))).toContain('first words');
    const { message } = messageEvent('/help', { argumentText: '' }) as { message: object };
    const metadata = { appCommandId: 1, appCommandType: 'SLASH_COMMAND' };
    const command = addOnEvent('appCommandPayload', { message, appCommandMetadata: metadata });
    expect(addOnTextOf(await send(command))).toBe(HELP);
    const quick = { appCommandMetadata: { appCommandId: '1', appCommandType: 'QUICK_COMMAND' } };
    expect(addOnTextOf(await send(addOnEvent('appCommandPayload', quick)))).toBe(HELP);
    expect(replyOf(await send(addOnEvent('removedFromSpacePayload')))).toEqual({});
  });

  test('that is added by a mention is welcomed, and answered by the event that follows', async () => {
    const added = addOnEvent('addedToSpacePayload', { interactionAdd: true });
    expect(addOnTextOf(await send(added))).toBe(WELCOME);
    const question = addOnMessage('@Bot what is new', { argumentText: ' what is new' });
    const answer = addOnTextOf(await send(question));
    expect(answer).toContain('what is new');
    expect(answer).not.toContain('@Bot');
    expect(answer).not.toContain(WELCOME);
  });

  test('has the memory of the same conversation in the other format', async () => {
    const room = { name: `spaces/${crypto.randomUUID()}`, spaceType: 'SPACE', singleUserBotDm: false };
    const thread = { name: `${room.name}/threads/1` };
    await send(
      addOnEvent('messagePayload', { space: room, message: { name: `${room.name}/1`, text: 'a', thread } }),
    );
    const classic = messageEvent('b', { name: `${room.name}/2`, thread, space: room }, { space: room });
    expectStatus(await send(classic), 200);
    const sessions = await setting.call('GET', `/api/v1/chat/sessions/${setting.workspace}?limit=100`, {
      headers: { 'svc-key': setting.adminKey },
    });
    const { items } = bodyOf<{ items: { channel_session_id: string; message_count: number }[] }>(
      sessions,
      200,
    );
    const named = items.filter(({ channel_session_id: id }) => id === thread.name);
    expect(named).toMatchObject([{ message_count: 4 }]);
  });
});

describe('an event that comes again', () => {
  test('is answered as before, in the format in which it comes', async () => {
    const { message } = messageEvent('once') as { message: object };
    const addOn = addOnEvent('messagePayload', { message });
    const first = addOnTextOf(await send(addOn));
    const again = await send(addOn);
    expect(isReplay(again)).toBe(true);
    expect(addOnTextOf(again)).toBe(first);
    const classic = await send(messageEvent('once', message));
    expect(isReplay(classic)).toBe(true);
    expect(replyOf(classic)).toEqual({ text: first });
  });

  test('of each kind that is answered', async () => {
    const events = [
      addOnEvent('addedToSpacePayload'),
      addOnEvent('appCommandPayload', { appCommandMetadata: { appCommandId: 1 } }),
      addOnEvent('buttonClickedPayload', {}, { parameters: { request: '17' } }),
    ];
    for (const event of events) {
      const first = await send(event);
      const second = await send(event);
      expect([isReplay(first), isReplay(second)]).toEqual([false, true]);
      expect(addOnTextOf(second)).toBe(addOnTextOf(first));
    }
  });
});

describe('a click', () => {
  const clicked = (common: object) =>
    addOnEvent(
      'buttonClickedPayload',
      { message: { name: 'spaces/direct/messages/card', sender: { name: 'users/bot', type: 'BOT' } } },
      common,
    );

  test('on a card that was sent before the conversion names its function in a parameter', async () => {
    const event = clicked({ parameters: { __action_method_name__: 'approve', request: '17' } });
    expect(addOnTextOf(await send(event))).toBe('Approved.');
  });

  test('tells its parameters and inputs', async () => {
    const answer = addOnTextOf(
      await send(
        clicked({
          parameters: { __action_method_name__: 'reject', request: '17' },
          formInputs: { note: { stringInputs: { value: ['ok', 'fine'] } } },
        }),
      ),
    );
    for (const words of ['reject', 'request: 17', 'note: ok, fine']) expect(answer).toContain(words);
    expect(answer).not.toContain('__action_method_name__');
  });
});

describe('events that ask for nothing', () => {
  test('are answered with nothing', async () => {
    const silent = [
      addOnEvent('widgetUpdatedPayload', {}, { parameters: { __action_method_name__: 'getContacts' } }),
      addOnEvent('buttonClickedPayload'),
      addOnMessage('beep', { sender: { ...USER, type: 'BOT' } }),
      addOnEvent('somethingNewPayload'),
      ...['APP_HOME', 'SUBMIT_FORM'].map((type) => ({
        commonEventObject: {},
        chat: { type, user: USER, space: DIRECT },
      })),
    ];
    for (const event of silent) expect(replyOf(await send(event))).toEqual({});
  });
});

describe('an event of an add-on', () => {
  test('has its person, its time, its space, and a message where it is one', async () => {
    const at = (...rest: string[]) => ['body', 'chat', ...rest];
    const chat = (fields: object) => ({ commonEventObject: {}, chat: fields });
    expect(await entriesOf(chat({ messagePayload: {} }))).toEqual([
      entry.missing(at('user'), { messagePayload: {} }),
      entry.missing(at('messagePayload', 'message'), {}),
    ]);
    const message = { user: USER, messagePayload: { message: {} } };
    expect(await entriesOf(chat(message))).toEqual([
      entry.missing(at('eventTime'), message),
      entry.missing(at('messagePayload', 'space'), { message: {} }),
    ]);
    for (const space of [{ space: DIRECT }, { removedFromSpacePayload: { space: DIRECT } }]) {
      const removed = { user: USER, eventTime: 'now', removedFromSpacePayload: {}, ...space };
      expectStatus(await send(chat(removed)), 200);
    }
  });

  test('has fields of their types, and unknown ones', async () => {
    const wrong = {
      commonEventObject: 'x',
      chat: {
        user: [],
        eventTime: 17,
        messagePayload: { message: { text: 1 }, space: 'x', configCompleteRedirectUri: 1 },
      },
    };
    const at = (...rest: string[]) => ['body', 'chat', ...rest];
    expect(await entriesOf(wrong)).toEqual([
      entry.notType('dict', ['body', 'commonEventObject'], 'x'),
      entry.notObject(at('user'), []),
      entry.notType('string', at('eventTime'), 17),
      entry.notType('string', at('messagePayload', 'message', 'text'), 1),
      entry.notObject(at('messagePayload', 'space'), 'x'),
      entry.notType('string', at('messagePayload', 'configCompleteRedirectUri'), 1),
    ]);
    const bare = {
      chat: { user: {}, eventTime: '', messagePayload: { message: { text: 'bare' }, space: {}, more: 1 } },
    };
    expect(addOnTextOf(await send(bare))).toContain('bare');
  });

  test('is of one kind', async () => {
    const payload = { space: DIRECT };
    const chat = {
      user: USER,
      eventTime: 'now',
      addedToSpacePayload: payload,
      removedFromSpacePayload: payload,
    };
    expect(await entriesOf({ chat })).toMatchObject([{ type: 'value_error', loc: ['body', 'chat'] }]);
  });

  test('or of neither format is refused as the other format is', async () => {
    const fields = ['type', 'eventTime', 'message', 'user', 'space', 'configCompleteRedirectUrl', 'common'];
    for (const body of [
      { chat: {} },
      { chat: 'x', commonEventObject: {} },
      { chat: [], commonEventObject: {} },
      { commonEventObject: {} },
    ])
      expect(await entriesOf(body)).toEqual(fields.map((field) => entry.missing(['body', field], body)));
  });

  test('of any kind never makes the service fail', async () => {
    const value = fc.anything({ maxDepth: 3, withNullPrototype: false });
    const payload = fc.oneof(
      value,
      fc.record({ space: value, message: value, appCommandMetadata: value }, { requiredKeys: [] }),
    );
    const names = ['messagePayload', 'addedToSpacePayload', 'appCommandPayload', 'buttonClickedPayload', 'x'];
    const chat = fc
      .tuple(fc.constantFrom(...names), payload, fc.constantFrom<unknown>(USER, {}, 1))
      .map(([name, given, user]) => ({ user, eventTime: 'now', space: DIRECT, [name]: given }));
    const common = fc.oneof(value, fc.record({ parameters: value, formInputs: value }, { requiredKeys: [] }));
    await fc.assert(
      fc.asyncProperty(chat, common, async (given, commonEventObject) => {
        const body = JSON.stringify({ chat: given, commonEventObject }, (_key, item: unknown) =>
          typeof item === 'bigint' ? String(item) : item,
        );
        const { status } = await setting.call('POST', bot.path, {
          body: new TextEncoder().encode(body),
          headers: { authorization: setting.adminKey, 'content-type': 'application/json' },
        });
        expect([200, 422]).toContain(status);
      }),
      { numRuns: 200 },
    );
    expect(setting.service.child.output()).not.toContain('unexpected failure');
  });
});

describe("the add-on's service account", () => {
  const hello = () => addOnMessage('hello');

  test('is the one whose tokens are accepted, and no other', async () => {
    const of = async (email: string, claims?: object) => {
      const { status } = await bot.send(hello(), `Bearer ${await tokenOf(email, claims)}`);
      return status;
    };
    expect(await of(ACCOUNT)).toBe(200);
    expect(await of(ACCOUNT.replace('1234', '4321'))).toBe(401);
    expect(await of('chat@system.gserviceaccount.com')).toBe(401);
    expect(await of(ACCOUNT, { email_verified: false })).toBe(401);
    expect(await of(ACCOUNT, { aud: `${URL_OF_WEBHOOK}/x` })).toBe(401);
    expect(await of(ACCOUNT, { iss: undefined })).toBe(401);
  });

  test("is not taken for the platform's own, which is asked for where none is registered", async () => {
    const client = createBotClient(setting);
    expectStatus(await client.put({ verification: verificationBy(null) }), 200);
    expectRefusal(await client.send(hello(), await tokenOf(ACCOUNT)), 401);
    expectStatus(await client.send(hello(), await tokenOf('chat@system.gserviceaccount.com')), 200);
  });

  test('is an e-mail, and belongs to the mode endpoint_url', async () => {
    const at = ['body', 'verification', 'service_account_email'];
    const client = createBotClient(setting);
    const put = async (verification: object) =>
      bodyOf<{ detail: entry.Entry[] }>(await client.put({ verification }), 422).detail;
    for (const account of ['', 'x', 'a b@c', `${'x'.repeat(320)}@example.com`])
      expect(await put(verificationBy(account))).toMatchObject([{ loc: at, input: account }]);
    const project = { mode: 'project_number', audience: '17', service_account_email: ACCOUNT };
    expect(await put(project)).toMatchObject([{ type: 'value_error', loc: at, input: ACCOUNT }]);
    const read = bodyOf<{ verification: object }>(
      await client.put({ verification: verificationBy(ACCOUNT) }),
      200,
    );
    expect(read.verification).toEqual(verificationBy(ACCOUNT));
    const classic = await registerBot(setting, keys.url);
    expectStatus(await classic.send(hello(), await signer.token()), 200);
  });
});
