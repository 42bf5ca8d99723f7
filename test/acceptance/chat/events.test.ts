// Every event type of the interface's table is caused by a call, and read back through Area E with exactly its fields;
// the description says which call causes which, and no call causes anything else.

import { expect, test } from 'bun:test';
import { createChatClient } from '../../support/chat-client.ts';
import { shared } from '../../support/shared.ts';
import { messageEvent, USER } from '../support/bots.ts';
import { bodyOf } from '../support/caller.ts';
import { operationsOf, readDocument } from '../support/contract.ts';
import { createFreshMetrics } from '../support/metrics.ts';
import { startSetting } from '../support/setting.ts';

const setting = await shared(startSetting());
const metrics = await createFreshMetrics(setting)();
const documented = new Map(
  operationsOf(await readDocument(setting.url)).map(({ operation }) => [
    operation.operationId,
    operation['x-events'] ?? [],
  ]),
);

type Caused = { operationId: string; subject: string; types: Record<string, Record<string, unknown>> };

/** Calls of every operation that causes events, in order, with what each has to cause. */
async function causeAll(): Promise<Caused[]> {
  const { call, adminKey } = setting;
  const { workspace } = metrics;
  const admin = `/admin/api/workspaces/${workspace}`;
  const caused: Caused[] = [];
  const because = (operationId: string, subject: string, types: Caused['types']) =>
    caused.push({ operationId, subject, types });
  const post = async (path: string, json: unknown, status = 201) =>
    bodyOf<Record<string, string>>(await call('POST', `${admin}${path}`, { key: adminKey, json }), status);

  const byAdmin = { value: 1, provider: 'admin' };
  const { id = '' } = await post('/users', { email: 'grace@example.com' });
  because('access.create-user', 'grace@example.com', { 'auth.user.create': byAdmin });
  await call('PATCH', `${admin}/users/${id}`, { key: adminKey, json: { name: 'Grace' } });
  because('access.update-user', 'grace@example.com', { 'auth.user.update': byAdmin });
  await call('DELETE', `${admin}/users/${id}`, { key: adminKey });
  because('access.delete-user', 'grace@example.com', { 'auth.user.delete': byAdmin });
  const owner = 'channel@example.com';
  const { key = '' } = await post('/keys', {
    name: 'channel',
    scopes: ['chat', 'bots', 'admin'],
    user_email: owner,
  });
  because('access.create-key', owner, { 'auth.user.create': byAdmin });
  const opened = await call('POST', '/admin/api/session', { json: { key } });
  because('access.open-session', owner, { 'auth.user.login': { value: 1, provider: 'key' } });
  const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
  await call('DELETE', '/admin/api/session', { headers: { cookie } });
  because('access.close-session', owner, { 'auth.user.logout': { value: 1, provider: 'key' } });
  await call('POST', '/admin/api/session', { json: { key } });
  because('access.open-session', owner, { 'auth.user.login': { value: 1, provider: 'key' } });
  const openSessions = `/admin/api/workspaces/${workspace}/sessions`;
  const [open] = bodyOf<{ items: { id: string }[] }>(await call('GET', openSessions, { key }), 200).items;
  await call('DELETE', `${openSessions}/${open?.id}`, { key });
  because('access.revoke-session', owner, { 'auth.user.logout': { value: 1, provider: 'key' } });

  const chat = createChatClient(call, { workspace, key });
  for (const kind of ['persona', 'agent', 'bot'])
    bodyOf(await chat.putAgent(kind, { name: kind, kind, replies: [{ match: '*', reply: 'Yes' }] }), 200);
  const value = '1';
  const made = await chat.newSession({ agi_id: 'persona', persona_id: 7 });
  const { name, chat_session_id } = made;
  because('chat.create-session', owner, { 'chat.create': { value, persona_id: 7, chat_session_id } });
  for (const kind of ['persona', 'agent', 'bot']) {
    if (kind !== 'persona') {
      await chat.newSession({ agi_id: kind, persona_id: 7, channel_session_id: name });
      because('chat.create-session', owner, { 'chat.rename': { value, chat_session_id } });
    }
    const sent = await chat.ask(name, `to ${kind}`, { id: kind });
    await chat.ask(name, `to ${kind}`, { id: kind });
    because('chat.send-message', owner, {
      'messages.user.new': { value, message_id: sent.user_message_id, chat_session_id },
      [`messages.rag.${kind}.new`]: { value, message_id: sent.message_id, chat_session_id },
    });
    const edited = bodyOf<typeof sent>(await chat.edit(sent.user_message_id, { message: 'better' }), 200);
    await chat.edit(sent.user_message_id, { message: 'better' });
    because('chat.edit-message', owner, {
      'messages.user.update': {
        value,
        old_message_id: sent.user_message_id,
        new_message_id: edited.user_message_id,
      },
      [`messages.rag.${kind}.new`]: { value, message_id: edited.message_id, chat_session_id },
    });
    const rating = { is_positive: kind === 'persona', ...(kind === 'bot' ? {} : { feedback_text: kind }) };
    bodyOf(await chat.feedback(sent.message_id, rating), 201);
    because('chat.give-feedback', owner, {
      'messages.user.feedback': {
        value,
        message_id: sent.message_id,
        is_positive: kind === 'persona',
        feedback_text: kind === 'bot' ? '' : kind,
      },
    });
    await chat.remove(sent.user_message_id);
    because('chat.delete-message', owner, {
      'messages.user.delete': { value, message_id: sent.user_message_id },
    });
  }
  for (const kind of ['persona', 'agent', 'bot']) {
    const id = `of-${kind}`;
    const json = { verification: { mode: 'key' }, agent_id: kind };
    bodyOf(await call('PUT', `${admin}/bots/${id}`, { key: adminKey, json }), 200);
    const event = { headers: { authorization: key }, json: messageEvent(`to ${kind}`) };
    for (let time = 0; time < 2; time++)
      bodyOf(await call('POST', `/chatapp/${workspace}/${id}`, event), 200);
    const headers = { 'svc-key': key };
    const sessions = `/api/v1/chat/sessions/${workspace}`;
    const tests = `${admin}/bots/${id}/test-events`;
    bodyOf(await call('POST', tests, { key, json: { text: `to ${kind}` } }), 200);
    const { items } = bodyOf<{ items: { chat_session_id: number; channel_id: string; user: string }[] }>(
      await call('GET', sessions, { headers }),
      200,
    );
    for (const [operationId, subject] of [
      ['bots.answer', USER.email.toLowerCase()],
      ['bots.test', owner],
    ] as const) {
      const found = items.find(({ channel_id, user }) => channel_id === id && user === subject);
      const session = found?.chat_session_id ?? 0;
      const said = bodyOf<{ items: { message_id: number; role: string }[] }>(
        await call('GET', `${sessions}/${session}/messages`, { headers }),
        200,
      );
      const idOf = (role: string) => said.items.find((each) => each.role === role)?.message_id;
      because(operationId, subject, {
        'chat.create': { value, persona_id: 0, chat_session_id: session },
        'messages.user.new': { value, message_id: idOf('user'), chat_session_id: session },
        [`messages.rag.${kind}.new`]: { value, message_id: idOf('assistant'), chat_session_id: session },
      });
    }
  }
  const person = { message: 'In person', agent_id: 'grace@example.com' };
  const { message_id } = bodyOf<{ message_id: number }>(
    await chat.addAgentMessage(chat_session_id, person),
    201,
  );
  because('chat.add-agent-message', owner, {
    'messages.agent.new': { value, message_id, chat_session_id, agent_id: 'grace@example.com' },
  });
  bodyOf(await chat.rename(chat_session_id, { title: 'A title' }), 200);
  because('chat.rename-session', owner, { 'chat.rename': { value, chat_session_id } });
  await chat.removeSession(chat_session_id);
  because('chat.delete-session', owner, { 'chat.delete': { value, chat_session_id } });
  return caused;
}

test('each call causes its events, with their exact fields, and no others', async () => {
  // The key of the metrics themselves is one of a new person.
  const before = await metrics.everything.stored('atrium', 1);
  const caused = await causeAll();
  const expected = caused.flatMap(({ subject, types }) =>
    Object.entries(types).map(([type, data]) => ({ type, subject, data })),
  );
  const count = before.length + expected.length;
  const stored = await metrics.everything.stored('atrium', count);
  expect(stored.length).toBe(count);
  const sorted = (events: { type: string; subject: string; data: unknown }[]) =>
    events.map(({ type, subject, data }) => JSON.stringify({ type, subject, data })).toSorted();
  const known = new Set(before.map(({ id }) => id));
  expect(sorted(stored.filter(({ id }) => !known.has(id)))).toEqual(sorted(expected));
  for (const event of stored) {
    expect(Object.keys(event).toSorted()).toEqual(FIELDS);
    expect([event.specversion, event.source, event.workspace_id]).toEqual([
      '1.0',
      'atrium',
      metrics.workspace,
    ]);
  }

  const told = Map.groupBy(caused, ({ operationId }) => operationId);
  for (const [operationId, types] of documented) {
    if (ELSEWHERE.has(operationId)) continue;
    const seen = new Set(told.get(operationId)?.flatMap((each) => Object.keys(each.types)));
    if (types.length > 0 || seen.size > 0)
      expect([operationId, [...types].toSorted()]).toEqual([operationId, [...seen].toSorted()]);
  }
  expect(new Set(expected.map(({ type }) => type)).size).toBe(16);
});

/** They need the link of a first start, and a provider; the tests of sessions and of single sign-on hold their events. */
const ELSEWHERE = new Set(['access.open-session-by-link', 'access.finish-sign-on']);

const FIELDS = [
  'created_at',
  'data',
  'event_id',
  'id',
  'source',
  'specversion',
  'subject',
  'time',
  'type',
  'updated_at',
  'workspace_id',
];
