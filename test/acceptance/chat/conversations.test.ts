// Area C over HTTP: sessions, messages, transcripts, and who may do what.

import { describe, expect, test } from 'bun:test';
import {
  type AnswerBody,
  type ChatClient,
  createChatClient,
  eventsOf,
  freshId,
  type SessionRow,
} from '../../support/chat-client.ts';
import { shared } from '../../support/shared.ts';
import { bodyOf, expectRefusal, expectStatus } from '../support/caller.ts';
import { startSetting } from '../support/setting.ts';

const setting = await shared(startSetting());
const created = await setting.people.newKey({ scopes: ['chat', 'admin'] });
const email = created.user_email;
const chat = createChatClient(setting.call, { workspace: setting.workspace, key: created.key });

type Page<Row> = { items: Row[]; next_cursor: string | null };

describe('a session', () => {
  test('is made once for its five keys, and bound anew by another persona or agi', async () => {
    const json = { agi_id: 'one', channel_session_id: freshId() };
    const made = bodyOf<Record<string, unknown>>(await chat.createSession(json), 200);
    expect(made).toEqual({
      chat_session_id: expect.any(Number),
      channel_session_id: json.channel_session_id,
      persona_id: 0,
      agi_id: 'one',
      workspace_id: setting.workspace,
      channel: 'web',
      channel_plugin: 'widget',
      channel_id: 'shop',
      created: true,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(bodyOf(await chat.createSession(json), 200)).toEqual({ ...made, created: false });
    const changed = { ...json, agi_id: 'two', persona_id: 5 };
    const bound = { ...made, agi_id: 'two', persona_id: 5, created: false };
    expect(bodyOf(await chat.createSession(changed), 200)).toEqual(bound);
    const elsewhere = createChatClient(setting.call, {
      workspace: setting.workspace,
      key: setting.adminKey,
      channel: 'web/widget/another',
    });
    expect((await elsewhere.newSession(json)).chat_session_id).not.toBe(made['chat_session_id'] as number);
  });

  test('that many make at once is one', async () => {
    const json = { agi_id: 'one', channel_session_id: freshId() };
    const answers = await Promise.all(Array.from({ length: 20 }, () => chat.createSession(json)));
    const bodies = answers.map((answer) =>
      bodyOf<{ chat_session_id: number; created: boolean }>(answer, 200),
    );
    expect(new Set(bodies.map(({ chat_session_id }) => chat_session_id)).size).toBe(1);
    expect(bodies.filter(({ created }) => created).length).toBe(1);
  });

  test('is listed with those of its channel alone where one is named', async () => {
    const channel = `channel ${freshId()}`;
    const there = createChatClient(setting.call, {
      workspace: setting.workspace,
      key: created.key,
      channel: `${encodeURIComponent(channel)}/widget/shop`,
    });
    const { chat_session_id: id } = await there.newSession({ agi_id: 'one' });
    await chat.newSession({ agi_id: 'one' });
    const idsOf = async (query: Record<string, string>) =>
      bodyOf<Page<SessionRow>>(await chat.sessions(query), 200).items.map((row) => row.chat_session_id);
    expect(await idsOf({ channel })).toEqual([id]);
    expect(await idsOf({ channel: freshId() })).toEqual([]);
    expect((await idsOf({ channel: '' })).length).toBeGreaterThan(1);
    expectStatus(await chat.sessions({ channel: 'a\u0000' }), 422);
  });

  test('keeps any text as its keys', async () => {
    for (const channel_session_id of ['a/b?c#d%', '😀 ünï', '...', ' ', "'; DROP TABLE chat_sessions; --"]) {
      const { name, chat_session_id } = await chat.newSession({ channel_session_id });
      expect(name).toBe(channel_session_id);
      expect((await chat.ask(name, 'hello')).chat_session_id).toBe(chat_session_id);
    }
  });

  test('has a row in the list, newest first, a title, and an end', async () => {
    const { name, chat_session_id } = await chat.newSession({ agi_id: 'one', persona_id: 2 });
    await chat.ask(name, 'hello');
    const newest = await chat.newSession();
    const renamed = bodyOf<SessionRow>(await chat.rename(chat_session_id, { title: 'Grüße 😀' }), 200);
    expect(renamed).toEqual({
      chat_session_id,
      channel_session_id: name,
      channel: 'web',
      channel_plugin: 'widget',
      channel_id: 'shop',
      persona_id: 2,
      agi_id: 'one',
      title: 'Grüße 😀',
      user: email,
      message_count: 2,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    const { items } = bodyOf<Page<SessionRow>>(await chat.sessions({ limit: 2 }), 200);
    expect(items[0]?.chat_session_id).toBe(newest.chat_session_id);
    expect(items[1]).toEqual(renamed);
    expectStatus(await chat.removeSession(chat_session_id), 204);
    for (const answer of [
      await chat.removeSession(chat_session_id),
      await chat.rename(chat_session_id, { title: 'x' }),
      await chat.messages(chat_session_id),
      await chat.send(name, 'hello'),
      await chat.addAgentMessage(chat_session_id, { message: 'x', agent_id: 'a@example.com' }),
    ])
      expect(expectRefusal(answer, 404)).toBe('Chat session not found');
    const again = await chat.newSession({ agi_id: 'one', channel_session_id: name });
    expect([again.created, again.chat_session_id === chat_session_id]).toEqual([true, false]);
    expect(await chat.transcript(again.chat_session_id)).toEqual([]);
  });

  test('lists are walked in pages without gaps or repeats', async () => {
    const { workspace, people } = await setting.elsewhere();
    const { key } = await people.newKey({ scopes: ['chat'] });
    const own = createChatClient(setting.call, { workspace, key });
    const made: number[] = [];
    for (let index = 0; index < 7; index++) made.push((await own.newSession()).chat_session_id);
    const walked: number[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Page<SessionRow> = bodyOf(await own.sessions({ limit: 3, cursor }), 200);
      walked.push(...page.items.map(({ chat_session_id }) => chat_session_id));
      cursor = page.next_cursor;
    }
    expect(walked).toEqual(made.toReversed());
    const { name, chat_session_id } = await own.newSession();
    for (let index = 0; index < 5; index++) await own.ask(name, `${index}`);
    const ids: number[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Page<{ message_id: number }> = bodyOf(
        await own.messages(chat_session_id, { limit: 3, cursor }),
        200,
      );
      ids.push(...page.items.map(({ message_id }) => message_id));
      cursor = page.next_cursor;
    }
    expect(ids.length).toBe(10);
    expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
  });
});

describe('a message', () => {
  test('is answered with everything about both, and stands in the transcript', async () => {
    const { name, chat_session_id } = await chat.newSession();
    const answer = await chat.ask(name, 'Hello there', { id: 'u-1', answerId: 'a-1' });
    const { message_id, user_message_id } = answer;
    expect(answer).toEqual({
      chat_session_id,
      channel_session_id: name,
      message_id,
      user_message_id,
      channel_user_message_id: 'u-1',
      channel_assistant_message_id: 'a-1',
      answer: expect.stringContaining('Hello there'),
      citations: [],
      model: 'local-echo',
      finish_reason: 'stop',
      usage: {
        prompt_tokens: expect.any(Number),
        completion_tokens: expect.any(Number),
        total_tokens: answer.usage.prompt_tokens + answer.usage.completion_tokens,
      },
      error_msg: null,
      created_at: expect.any(String),
    });
    const row = {
      agent_id: null,
      citations: [],
      feedback: null,
      error_msg: null,
      created_at: expect.any(String),
    };
    expect(await chat.transcript(chat_session_id)).toEqual([
      {
        ...row,
        message_id: user_message_id,
        parent_message_id: null,
        role: 'user',
        message: 'Hello there',
        channel_message_id: 'u-1',
      },
      {
        ...row,
        message_id,
        parent_message_id: user_message_id,
        role: 'assistant',
        message: answer.answer,
        channel_message_id: 'a-1',
      },
    ]);
  });

  test('is streamed where that is asked for', async () => {
    const { name } = await chat.newSession();
    const answer = await chat.send(name, 'Stream this', { id: 'u-1', stream: true });
    expectStatus(answer, 200);
    const events = eventsOf(answer.text);
    expect(events[0]?.type).toBe('start');
    expect(events.slice(-2).map(({ type }) => type)).toEqual(['citations', 'end']);
    const deltas = events.filter(({ type }) => type === 'delta').map(({ text }) => text);
    expect(deltas.length).toBeGreaterThan(1);
    expect(deltas.join('')).toBe(events.at(-1)?.['answer'] as string);
    const again = await chat.send(name, 'Stream this', { id: 'u-1', stream: true });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(eventsOf(again.text).at(-1)).toEqual(events.at(-1));
  });

  test('any text comes back as it was', async () => {
    const { name, chat_session_id } = await chat.newSession();
    const texts = ['\u0001\u001f"\\', '😀'.repeat(100), '\u2028\ufeff', ' ', 'x'.repeat(300_000), '{"a":1}'];
    for (const text of texts) await chat.ask(name, text);
    const rows = await chat.transcript(chat_session_id);
    expect(rows.filter(({ role }) => role === 'user').map(({ message }) => message)).toEqual(texts);
  });

  test('of half a megabyte is one of few in a page, whatever the limit', async () => {
    const { name, chat_session_id } = await chat.newSession();
    for (let index = 0; index < 6; index++) await chat.ask(name, 'x'.repeat(524_288));
    const { text } = await chat.messages(chat_session_id, { limit: 100 });
    expect(text.length).toBeLessThan(5_500_000);
    const page = JSON.parse(text) as Page<{ message_id: number }>;
    expect(page.items.length).toBeGreaterThan(1);
    expect(page.next_cursor).not.toBeNull();
    const rows = await chat.transcript(chat_session_id);
    expect(rows.map(({ role }) => `${role}`)).toEqual(
      Array.from({ length: 6 }, () => ['user', 'assistant']).flat(),
    );
  });

  test('is rated, the last time counting', async () => {
    const { name, chat_session_id } = await chat.newSession();
    const { message_id, user_message_id } = await chat.ask(name, 'hello');
    const rating = { is_positive: false, feedback_text: 'wrong' };
    expect(bodyOf(await chat.feedback(message_id, rating), 201)).toEqual({ message_id, ...rating });
    const better = { is_positive: true, feedback_text: '' };
    expect(bodyOf(await chat.feedback(message_id, { is_positive: true }), 201)).toEqual({
      message_id,
      ...better,
    });
    expect((await chat.transcript(chat_session_id)).map(({ feedback }) => feedback)).toEqual([null, better]);
    expectRefusal(await chat.feedback(user_message_id, rating), 404);
  });

  test('is deleted with its answer; what follows stays', async () => {
    const { name, chat_session_id } = await chat.newSession();
    const first = await chat.ask(name, 'first');
    const second = await chat.ask(name, 'second');
    expectRefusal(await chat.remove(first.message_id), 404);
    expectStatus(await chat.remove(first.user_message_id), 204);
    expectRefusal(await chat.remove(first.user_message_id), 404);
    expectRefusal(await chat.edit(first.user_message_id, { message: 'x' }), 404);
    expectRefusal(await chat.feedback(first.message_id, { is_positive: true }), 404);
    const rows = await chat.transcript(chat_session_id);
    expect(rows.map(({ message_id }) => message_id)).toEqual([second.user_message_id, second.message_id]);
    const { items } = bodyOf<Page<SessionRow>>(await chat.sessions({ limit: 1 }), 200);
    expect(items[0]?.message_count).toBe(2);
  });

  test('of a person stands behind what was said', async () => {
    const { name, chat_session_id } = await chat.newSession();
    const { message_id } = await chat.ask(name, 'hello');
    const words = { message: 'A person here', agent_id: 'Grace@example.com' };
    const said = bodyOf<{ message_id: number }>(await chat.addAgentMessage(chat_session_id, words), 201);
    expect(said).toEqual({
      message_id: said.message_id,
      parent_message_id: message_id,
      role: 'agent',
      message: 'A person here',
      channel_message_id: null,
      agent_id: 'Grace@example.com',
      citations: [],
      feedback: null,
      error_msg: null,
      created_at: expect.any(String),
    } as never);
    expect((await chat.transcript(chat_session_id)).at(-1)).toEqual(said as never);
    const next = await chat.ask(name, 'and?');
    expect((await chat.transcript(chat_session_id)).at(-2)).toMatchObject({
      message_id: next.user_message_id,
      parent_message_id: said.message_id,
    });
  });
});

describe('agents', () => {
  test('are chosen by agi, by persona, by default; a bot answers from its list', async () => {
    const { workspace, people } = await setting.elsewhere();
    const { key } = await people.newKey({ scopes: ['chat', 'admin'] });
    const own = createChatClient(setting.call, { workspace, key });
    const bot = (reply: string, fields = {}) => ({
      name: reply,
      kind: 'bot',
      replies: [{ match: '*', reply }],
      ...fields,
    });
    const answerTo = async (fields: Record<string, unknown>) =>
      (await own.ask((await own.newSession(fields)).name, 'hello')).answer;
    bodyOf(await own.putAgent('by-agi', bot('agi')), 200);
    bodyOf(await own.putAgent('7', bot('persona')), 200);
    expect(await answerTo({ agi_id: 'unknown' })).toContain('hello');
    bodyOf(await own.putAgent('fallback', bot('default', { default: true })), 200);
    expect(await answerTo({ agi_id: 'by-agi', persona_id: 7 })).toBe('agi');
    expect(await answerTo({ agi_id: 'unknown', persona_id: 7 })).toBe('persona');
    expect(await answerTo({ agi_id: 'unknown', persona_id: 8 })).toBe('default');
    bodyOf(await own.putAgent('another', bot('another', { default: true })), 200);
    expect(await answerTo({ agi_id: 'unknown' })).toBe('another');
    expect(bodyOf<{ default: boolean }>(await own.agent('GET', 'fallback'), 200).default).toBe(false);
    const replies = [
      { match: 'PRICE', reply: 'ten' },
      { match: 'hour', reply: 'nine to five' },
    ];
    bodyOf(await own.putAgent('by-agi', { name: 'Bot', kind: 'bot', replies }), 200);
    const { name } = await own.newSession({ agi_id: 'by-agi' });
    const said = async (text: string) => (await own.ask(name, text)).answer;
    expect([await said('what price?'), await said('Opening HOURS and price'), await said('what?')]).toEqual([
      'ten',
      'ten',
      '',
    ]);
    expectStatus(await own.agent('DELETE', 'by-agi'), 204);
    expectRefusal(await own.agent('DELETE', 'by-agi'), 404);
    expectRefusal(await own.agent('GET', 'by-agi'), 404);
    expect(await said('what price?')).toBe('another');
  });

  test('are administered by administrators', async () => {
    const { workspace, people } = await setting.elsewhere();
    const { key } = await people.newKey({ scopes: ['chat'] });
    const plain = createChatClient(setting.call, { workspace, key });
    expectRefusal(await plain.putAgent('x', { name: 'X', kind: 'persona' }), 403);
    expectRefusal(await plain.agent('GET', 'x'), 403);
    expectRefusal(await plain.agent('DELETE', 'x'), 403);
    expectRefusal(await chat.agent('GET', 'absent'), 404);
    const unknown = createChatClient(setting.call, { workspace: 'nowhere', key: setting.adminKey });
    expectRefusal(await unknown.putAgent('x', { name: 'X', kind: 'persona' }), 404);
  });

  test('cite documents that the person may see, and no others', async () => {
    const person = await setting.people.person({ scopes: ['documents:read', 'documents:write', 'chat'] });
    const stranger = await setting.people.person({ scopes: ['documents:read', 'documents:write', 'chat'] });
    const word = `w${freshId().replaceAll('-', '').slice(0, 12)}`;
    const own = await person.library.stored({ summary: `About ${word}`, tags: ['manual'] });
    const shared = await stranger.library.stored({
      summary: `Also ${word}`,
      access: { curators: [person.email] },
    });
    const open = await setting.admin.stored({ summary: `Open ${word}`, status: 'public' });
    await stranger.library.stored({ summary: `Secret ${word}` });
    bodyOf(await chat.putAgent('reader', { name: 'Reader', kind: 'persona', knowledge: 'documents' }), 200);
    const citedBy = async (key: string) => {
      const theirs = createChatClient(setting.call, { workspace: setting.workspace, key });
      const { name } = await theirs.newSession({ agi_id: 'reader' });
      const answer = await theirs.ask(name, `What is known of ${word}?`);
      for (const { score } of answer.citations) expect(score).toBeGreaterThan(0);
      return answer.citations.map(({ document_id }) => document_id).toSorted();
    };
    expect(await citedBy(person.key)).toEqual([own.id, shared.id, open.id].toSorted());
    const reader = await setting.people.newKey({ scopes: ['chat', 'documents:read'] });
    expect(await citedBy(reader.key)).toEqual([open.id]);
  });
});

describe('who may', () => {
  test('needs a service key with the scope chat, of the workspace', async () => {
    const { workspace, people } = await setting.elsewhere();
    const stranger = await people.newKey({ scopes: ['chat'] });
    const unscoped = await setting.people.newKey({ scopes: ['documents:read', 'admin'] });
    const { name, chat_session_id } = await chat.newSession();
    const { message_id, user_message_id } = await chat.ask(name, 'hello');
    const as = (key: string) => createChatClient(setting.call, { workspace: setting.workspace, key });
    const everything = (client: ChatClient) => [
      client.createSession({ agi_id: 'x', channel_session_id: 'x' }),
      client.send(name, 'hello'),
      client.edit(user_message_id, { message: 'x' }),
      client.remove(user_message_id),
      client.feedback(message_id, { is_positive: true }),
      client.sessions(),
      client.messages(chat_session_id),
      client.rename(chat_session_id, { title: 'x' }),
      client.removeSession(chat_session_id),
      client.addAgentMessage(chat_session_id, { message: 'x', agent_id: 'a@example.com' }),
    ];
    for (const key of ['', 'nonsense']) {
      for (const answer of await Promise.all(everything(as(key)))) {
        expectRefusal(answer, 401);
        expect(answer.headers.get('www-authenticate')).toBe(
          'Bearer realm="atrium", ApiKey realm="atrium", header="svc-key"',
        );
      }
    }
    for (const { key } of [stranger, unscoped])
      for (const answer of await Promise.all(everything(as(key)))) expectRefusal(answer, 403);
    // Theirs are another workspace's: what is not in it is not there.
    const elsewhere = createChatClient(setting.call, { workspace, key: stranger.key });
    const [, sent, ...rest] = everything(elsewhere);
    expectRefusal((await sent) as never, 404);
    const [edit, remove, feedback, , messages, rename, end, words] = await Promise.all(rest);
    for (const answer of [edit, remove, feedback, messages, rename, end, words])
      expectRefusal(answer as never, 404);
    expect((await chat.transcript(chat_session_id)).length).toBe(2);
    expect(setting.service.child.output()).not.toContain(stranger.key);
  });
});

test('an answer is given once to a message that is sent twenty times at once', async () => {
  const { name, chat_session_id } = await chat.newSession();
  const id = freshId();
  const answers = await Promise.all(Array.from({ length: 20 }, () => chat.send(name, 'once', { id })));
  const bodies = answers.map((answer) => JSON.stringify(bodyOf<AnswerBody>(answer, 200)));
  expect(new Set(bodies).size).toBe(1);
  expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === null).length).toBe(1);
  expect((await chat.transcript(chat_session_id)).length).toBe(2);
});

test('the metrics tell of answers', async () => {
  const { name } = await chat.newSession();
  const answered = async (): Promise<number> => {
    const text = (await setting.call('GET', '/metrics')).text;
    return Number(/^atrium_chat_answers_total\{outcome="answered"\} (\d+)$/m.exec(text)?.[1]);
  };
  const before = await answered();
  await chat.ask(name, 'counted', { id: 'once' });
  await chat.ask(name, 'counted', { id: 'once' });
  expect(await answered()).toBe(before + 1);
});
