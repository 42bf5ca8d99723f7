// Input of conversations that nobody should send: each with its exact refusal.

import { describe, expect, test } from 'bun:test';
import { createChatClient } from '../../support/chat-client.ts';
import { shared } from '../../support/shared.ts';
import { type Answer, bodyOf, type CallOptions, expectRefusal, expectStatus } from '../support/caller.ts';
import type { Entry } from '../support/entries.ts';
import * as entry from '../support/entries.ts';
import { startSetting } from '../support/setting.ts';
import { titleOf } from '../support/title.ts';

const setting = await shared(startSetting());
const chat = createChatClient(setting.call, { workspace: setting.workspace, key: setting.adminKey });
const session = await chat.newSession();
const message = await chat.ask(session.name, 'hello');

const utf8 = (text: string) => new TextEncoder().encode(text);
const entriesOf = (answer: Answer): Entry[] => bodyOf<{ detail: Entry[] }>(answer, 422).detail;

/** `{w}`, `{s}`, `{name}`, `{m}` and `{u}` stand for the workspace, the session, and a message. */
const ask = (method: string, path: string, options: CallOptions = {}): Promise<Answer> =>
  setting.call(
    method,
    path
      .replace('{w}', setting.workspace)
      .replace('{s}', `${session.chat_session_id}`)
      .replace('{name}', session.name)
      .replace('{m}', `${message.message_id}`)
      .replace('{u}', `${message.user_message_id}`),
    { headers: { 'svc-key': setting.adminKey }, ...options },
  );

const CREATE = ['POST', '/api/v1/chat/messages/create-chat-session/{w}/web/widget/shop'] as const;
const SEND = [
  'POST',
  '/api/v1/chat/messages/send-message/{w}/web/widget/shop/bychannelsession/{name}',
] as const;
const EDIT = ['PUT', '/api/v1/chat/messages/{w}/{u}'] as const;
const FEEDBACK = ['POST', '/api/v1/chat/messages/{w}/{m}/feedback'] as const;
const RENAME = ['PATCH', '/api/v1/chat/sessions/{w}/{s}'] as const;
const AGENT_MESSAGE = ['POST', '/api/v1/chat/sessions/{w}/{s}/agent-messages'] as const;
const AGENT = ['PUT', '/admin/api/workspaces/{w}/agents/x'] as const;

const GOOD = new Map<readonly [string, string], Record<string, unknown>>([
  [CREATE, { agi_id: 'x', channel_session_id: 'x' }],
  [SEND, { message: 'x', channel_user_message_id: 'x', channel_assistant_message_id: 'x' }],
  [EDIT, { message: 'x' }],
  [FEEDBACK, { is_positive: true }],
  [RENAME, { title: 'x' }],
  [AGENT_MESSAGE, { message: 'x', agent_id: 'a@example.com' }],
]);

const LONG = 'x'.repeat(1025);

describe('the header svc-key', () => {
  test('that is absent is missing, together with other mistakes, on every operation', async () => {
    const missing = entry.missing(['header', 'svc-key'], null);
    for (const [[method, path], json] of GOOD)
      expect(entriesOf(await ask(method, path, { headers: {}, json }))).toEqual([missing]);
    for (const [method, path] of [
      ['GET', '/api/v1/chat/sessions/{w}'],
      ['GET', '/api/v1/chat/sessions/{w}/{s}/messages'],
      ['DELETE', '/api/v1/chat/sessions/{w}/{s}'],
      ['DELETE', '/api/v1/chat/messages/{w}/{u}'],
    ] as const)
      expect(entriesOf(await ask(method, path, { headers: {} }))).toEqual([missing]);
    expect(entriesOf(await ask('DELETE', '/api/v1/chat/messages/{w}/x', { headers: {} }))).toEqual([
      entry.notInteger(['path', 'message_id'], 'x'),
      missing,
    ]);
    // Another area's header is not it.
    expect(entriesOf(await ask(...SEND, { headers: {}, key: setting.adminKey }))).toEqual([missing]);
  });
});

describe('a body', () => {
  for (const [[method, path], good] of GOOD) {
    test(`of ${method} ${path}: absent, of another type, with every field missing, not JSON`, async () => {
      expect(entriesOf(await ask(method, path))).toEqual([entry.missing(['body'], null)]);
      for (const json of [[], 'text', 3, true])
        expect(entriesOf(await ask(method, path, { json }))).toEqual([entry.notObject(['body'], json)]);
      expect(entriesOf(await ask(method, path, { json: {} }))).toEqual(
        Object.keys(good).map((name) => entry.missing(['body', name], {})),
      );
      const headers = { 'svc-key': setting.adminKey, 'content-type': 'application/json' };
      expect(entriesOf(await ask(method, path, { headers, body: utf8('{"a":') }))[0]).toMatchObject({
        type: 'json_invalid',
      });
      expectRefusal(
        await ask(method, path, { headers: { ...headers, 'content-type': 'text/plain' }, body: utf8('x') }),
        415,
      );
    });
  }

  type Vector = [
    operation: readonly [string, string],
    field: string,
    value: unknown,
    expected: (loc: string[]) => Entry,
  ];
  const VECTORS: Vector[] = [
    [CREATE, 'persona_id', -1, (loc) => entry.tooSmall(loc, -1, 0)],
    [CREATE, 'persona_id', 1.5, (loc) => entry.fractional(loc, 1.5)],
    [CREATE, 'persona_id', 'one', (loc) => entry.notInteger(loc, 'one')],
    [CREATE, 'persona_id', null, (loc) => entry.notType('int', loc, null)],
    [CREATE, 'persona_id', [], (loc) => entry.notType('int', loc, [])],
    [CREATE, 'persona_id', 2 ** 60, (loc) => entry.tooLarge(loc, 2 ** 60, Number.MAX_SAFE_INTEGER)],
    [CREATE, 'agi_id', '', (loc) => entry.tooShort(loc, '', 1)],
    [CREATE, 'agi_id', LONG, (loc) => entry.tooLong(loc, LONG, 1024)],
    [CREATE, 'agi_id', 7, (loc) => entry.notType('string', loc, 7)],
    [CREATE, 'channel_session_id', '', (loc) => entry.tooShort(loc, '', 1)],
    [CREATE, 'channel_session_id', LONG, (loc) => entry.tooLong(loc, LONG, 1024)],
    [CREATE, 'channel_session_id', null, (loc) => entry.notType('string', loc, null)],
    [CREATE, 'channel_session_id', '..', (loc) => valueError(loc, "a session can't be named '..'", '..')],
    [SEND, 'message', '', (loc) => entry.tooShort(loc, '', 1)],
    [SEND, 'message', null, (loc) => entry.notType('string', loc, null)],
    [SEND, 'message', { text: 'x' }, (loc) => entry.notType('string', loc, { text: 'x' })],
    [SEND, 'channel_user_message_id', 5, (loc) => entry.notType('string', loc, 5)],
    [SEND, 'channel_user_message_id', '', (loc) => entry.tooShort(loc, '', 1)],
    [SEND, 'channel_user_message_id', LONG, (loc) => entry.tooLong(loc, LONG, 1024)],
    [SEND, 'channel_assistant_message_id', false, (loc) => entry.notType('string', loc, false)],
    [SEND, 'channel_assistant_message_id', '', (loc) => entry.tooShort(loc, '', 1)],
    [EDIT, 'message', '', (loc) => entry.tooShort(loc, '', 1)],
    [EDIT, 'message', 1, (loc) => entry.notType('string', loc, 1)],
    [FEEDBACK, 'is_positive', 'perhaps', (loc) => entry.notBoolean(loc, 'perhaps')],
    [FEEDBACK, 'feedback_text', 5, (loc) => entry.notType('string', loc, 5)],
    [FEEDBACK, 'feedback_text', 'x'.repeat(10_001), (loc) => entry.tooLong(loc, 'x'.repeat(10_001), 10_000)],
    [RENAME, 'title', '', (loc) => entry.tooShort(loc, '', 1)],
    [RENAME, 'title', null, (loc) => entry.notType('string', loc, null)],
    [RENAME, 'title', 'x'.repeat(501), (loc) => entry.tooLong(loc, 'x'.repeat(501), 500)],
    [AGENT_MESSAGE, 'message', '', (loc) => entry.tooShort(loc, '', 1)],
    [
      AGENT_MESSAGE,
      'agent_id',
      'nobody',
      (loc) => ({
        type: 'value_error',
        loc,
        msg: 'value is not a valid email address: An email address must have an @-sign.',
        input: 'nobody',
        ctx: { reason: 'An email address must have an @-sign.' },
      }),
    ],
  ];
  for (const [operation, field, value, expected] of VECTORS)
    test(`of ${operation[0]} ${operation[1]} with ${field} ${titleOf(JSON.stringify(value))}`, async () => {
      const json = { ...GOOD.get(operation), [field]: value };
      expect(entriesOf(await ask(...operation, { json }))).toEqual([expected(['body', field])]);
    });

  test('with NULs and lone surrogates is refused where they stand', async () => {
    const headers = { 'svc-key': setting.adminKey, 'content-type': 'application/json' };
    for (const [operation, good] of GOOD) {
      for (const field of Object.keys(good).filter((name) => typeof good[name] === 'string')) {
        const sendText = (text: string) =>
          ask(...operation, {
            headers,
            body: utf8(JSON.stringify({ ...good, [field]: 'TEXT' }).replace('TEXT', text)),
          });
        const loc = ['body', field];
        const lone = 'Input should be a valid string, unable to parse raw data as a unicode string';
        for (const escaped of ['\\ud800', '\\udc00\\ud800', 'a\\udfffb'])
          expect(entriesOf(await sendText(escaped))).toEqual([
            { type: 'string_unicode', loc, msg: lone, input: JSON.parse(`"${escaped}"`).toWellFormed() },
          ]);
        expect(entriesOf(await sendText('a\\u0000b'))).toEqual([
          valueError(loc, 'the character U+0000 cannot be stored', 'a\u0000b'),
        ]);
      }
    }
    expect((await chat.transcript(session.chat_session_id)).length).toBe(2);
  });

  test('with a message of a megabyte is refused with 413, and stores nothing', async () => {
    for (const length of [524_289, 1_000_000, 1_100_000]) {
      const json = { ...GOOD.get(SEND), message: 'x'.repeat(length) };
      expectRefusal(await ask(...SEND, { json }), 413);
      expectRefusal(await ask(...EDIT, { json: { message: json.message } }), 413);
      expectRefusal(
        await ask(...AGENT_MESSAGE, { json: { ...GOOD.get(AGENT_MESSAGE), message: json.message } }),
        413,
      );
    }
    expect((await chat.transcript(session.chat_session_id)).length).toBe(2);
  });
});

describe('a path', () => {
  const NUMBERS: [text: string, expected: (loc: string[]) => Entry][] = [
    ['x', (loc) => entry.notInteger(loc, 'x')],
    ['1.5', (loc) => entry.notInteger(loc, '1.5')],
    ['0', (loc) => entry.tooSmall(loc, '0', 1)],
    ['-1', (loc) => entry.tooSmall(loc, '-1', 1)],
    ['9007199254740993', (loc) => entry.tooLarge(loc, '9007199254740993', Number.MAX_SAFE_INTEGER)],
  ];
  test.each(NUMBERS)('with the id %s', async (text, expected) => {
    const asked: [string, string, string][] = [
      ['PUT', `/api/v1/chat/messages/{w}/${text}`, 'message_id'],
      ['DELETE', `/api/v1/chat/messages/{w}/${text}`, 'message_id'],
      ['POST', `/api/v1/chat/messages/{w}/${text}/feedback`, 'message_id'],
      ['PATCH', `/api/v1/chat/sessions/{w}/${text}`, 'chat_session_id'],
      ['DELETE', `/api/v1/chat/sessions/{w}/${text}`, 'chat_session_id'],
      ['GET', `/api/v1/chat/sessions/{w}/${text}/messages`, 'chat_session_id'],
      ['POST', `/api/v1/chat/sessions/{w}/${text}/agent-messages`, 'chat_session_id'],
    ];
    for (const [method, path, name] of asked)
      expect(entriesOf(await ask(method, path))).toEqual([expected(['path', name])]);
  });

  test('with an unknown id is 404', async () => {
    const unknown = '900719925474';
    expectRefusal(await ask('PUT', `/api/v1/chat/messages/{w}/${unknown}`, { json: GOOD.get(EDIT) }), 404);
    expectRefusal(await ask('DELETE', `/api/v1/chat/messages/{w}/${unknown}`), 404);
    expectRefusal(
      await ask('POST', `/api/v1/chat/messages/{w}/${unknown}/feedback`, { json: GOOD.get(FEEDBACK) }),
      404,
    );
    expectRefusal(await chat.send('no-such-session', 'x'), 404);
  });

  test('with text that cannot be, or is too long', async () => {
    const path = (channel: string, name = 'x') =>
      `/api/v1/chat/messages/send-message/{w}/${channel}/widget/shop/bychannelsession/${name}`;
    const json = GOOD.get(SEND);
    const unicode = 'Input should be a valid string, unable to parse raw data as a unicode string';
    expect(entriesOf(await ask('POST', path('%ff', '%00'), { json }))).toEqual([
      { type: 'string_unicode', loc: ['path', 'channel'], msg: unicode, input: '%ff' },
      valueError(['path', 'channel_session_id'], 'the character U+0000 cannot be stored', '\u0000'),
    ]);
    expect(entriesOf(await ask('POST', path(LONG, LONG), { json }))).toEqual([
      entry.tooLong(['path', 'channel'], LONG, 1024),
      entry.tooLong(['path', 'channel_session_id'], LONG, 1024),
    ]);
  });

  test("with the bots' own channel is refused", async () => {
    const error = 'google_chat with the plugin chatapp is reserved for bots';
    const expected = [valueError(['path', 'channel'], error, 'google_chat')];
    const bots = createChatClient(setting.call, {
      workspace: setting.workspace,
      key: setting.adminKey,
      channel: 'google_chat/chatapp/bot',
    });
    expect(entriesOf(await bots.createSession(GOOD.get(CREATE)))).toEqual(expected);
    expect(entriesOf(await bots.send('x', 'x'))).toEqual(expected);
  });
});

describe('a list', () => {
  test('with a wrong limit or cursor', async () => {
    for (const path of ['/api/v1/chat/sessions/{w}', '/api/v1/chat/sessions/{w}/{s}/messages']) {
      expect(entriesOf(await ask('GET', `${path}?limit=0`))).toEqual([
        entry.tooSmall(['query', 'limit'], '0', 1),
      ]);
      expect(entriesOf(await ask('GET', `${path}?limit=101`))).toEqual([
        entry.tooLarge(['query', 'limit'], '101', 100),
      ]);
      expect(entriesOf(await ask('GET', `${path}?limit=x`))).toEqual([
        entry.notInteger(['query', 'limit'], 'x'),
      ]);
      for (const cursor of ['x', btoa('1:x'), btoa('1:-1'), btoa('1:99999999999999999999')])
        expect(entriesOf(await ask('GET', `${path}?cursor=${cursor.replaceAll('=', '')}`))).toEqual([
          valueError(
            ['query', 'cursor'],
            'the cursor is not one that this list has given',
            cursor.replaceAll('=', ''),
          ),
        ]);
    }
  });
});

describe('an agent', () => {
  const good = { name: 'X', kind: 'persona' };
  const put = (json: unknown) => ask(...AGENT, { key: setting.adminKey, json });
  const VECTORS: [fields: Record<string, unknown>, expected: (loc: string[]) => Entry][] = [
    [{ name: '' }, (loc) => entry.tooShort(loc, '', 1)],
    [{ name: 5 }, (loc) => entry.notType('string', loc, 5)],
    [{ kind: 'human' }, (loc) => entry.notEnum(loc, 'human', "'persona', 'agent' or 'bot'")],
    [{ model: '' }, (loc) => entry.tooShort(loc, '', 1)],
    [{ model: 5 }, (loc) => entry.notType('string', loc, 5)],
    [{ instructions: [] }, (loc) => entry.notType('string', loc, [])],
    [{ temperature: 2.5 }, (loc) => entry.tooLarge(loc, 2.5, 2)],
    [{ temperature: -1 }, (loc) => entry.tooSmall(loc, -1, 0)],
    [{ history_messages: 201 }, (loc) => entry.tooLarge(loc, 201, 200)],
    [{ history_messages: 1.5 }, (loc) => entry.fractional(loc, 1.5)],
    [{ history_tokens: -1 }, (loc) => entry.tooSmall(loc, -1, 0)],
    [{ knowledge: 'web' }, (loc) => entry.notEnum(loc, 'web', "'none' or 'documents'")],
    [{ knowledge_only: 'perhaps' }, (loc) => entry.notBoolean(loc, 'perhaps')],
    [{ not_found_text: '' }, (loc) => entry.tooShort(loc, '', 1)],
    [{ replies: 'x' }, (loc) => entry.notType('list', loc, 'x')],
    [{ replies: [{ match: 'x' }] }, (loc) => entry.missing([...loc, 0, 'reply'], { match: 'x' })],
    [{ default: 'perhaps' }, (loc) => entry.notBoolean(loc, 'perhaps')],
  ];
  test.each(VECTORS)('with %j', async (fields, expected) => {
    const [field = ''] = Object.keys(fields);
    expect(entriesOf(await put({ ...good, ...fields }))).toEqual([expected(['body', field])]);
  });

  test('that is a bot and has no reply', async () => {
    for (const fields of [{}, { replies: [] }, { replies: null }] as { replies?: unknown }[])
      expect(entriesOf(await put({ name: 'X', kind: 'bot', ...fields }))).toEqual([
        valueError(['body', 'replies'], 'a bot needs at least one reply', fields.replies ?? null),
      ]);
  });

  test('that answers from documents alone and knows none', async () => {
    for (const fields of [{}, { knowledge: 'none' }, { knowledge: null }])
      expect(entriesOf(await put({ ...good, ...fields, knowledge_only: true }))).toEqual([
        valueError(
          ['body', 'knowledge_only'],
          'an agent that answers from documents alone needs knowledge of documents',
          true,
        ),
      ]);
  });

  test('whose optional fields are null has their defaults', async () => {
    const fields = [
      'model',
      'instructions',
      'temperature',
      'history_messages',
      'history_tokens',
      'knowledge',
      'knowledge_only',
      'not_found_text',
      'replies',
      'default',
    ];
    const answer = await put({ ...good, ...Object.fromEntries(fields.map((name) => [name, null])) });
    expect(bodyOf(answer, 200)).toMatchObject({
      id: 'x',
      model: null,
      instructions: '',
      temperature: null,
      history_messages: 20,
      history_tokens: 8000,
      knowledge: 'none',
      knowledge_only: false,
      not_found_text: null,
      replies: [],
      default: false,
    });
    expectStatus(await chat.agent('DELETE', 'x'), 204);
  });
});

function valueError(loc: (string | number)[], error: string, input: unknown): Entry {
  return { type: 'value_error', loc, msg: `Value error, ${error}`, input, ctx: { error } };
}
