// What bots are given: turns that are stored, counted and remembered like those of any channel.

import { expect, test } from 'bun:test';
import { expectStatus } from '../acceptance/support/caller.ts';
import { freshId } from '../support/chat-client.ts';
import { eventually } from '../support/child.ts';
import { shared } from '../support/shared.ts';
import { startSetting } from './setting.ts';

const setting = await shared(startSetting());
const chat = await setting.start();

const turnOf = (channelSessionId: string, channelMessageId: string = freshId()) => ({
  requestKey: channelMessageId,
  agentId: null,
  workspaceId: 'acme',
  channel: 'google_chat',
  channelPlugin: 'chatapp',
  channelId: 'bot-1',
  channelSessionId,
  user: 'ada@example.com',
  channelMessageId,
});
const { signal } = new AbortController();

async function stored(session: string) {
  const [row] = await setting.sql<{ id: number; count: number; person: string }[]>`
    SELECT id, message_count AS count, person FROM chat_sessions WHERE channel_session_id = ${session}`;
  if (row === undefined) throw new Error('no session');
  const told = (await setting.events()).filter(({ data }) => data['chat_session_id'] === row.id);
  return {
    ...row,
    told: told.map(({ type, subject }) => `${type} ${subject}`),
    rows: await chat.transcript(row.id),
  };
}

test('a conversation: welcome, questions with memory, a canned reply, each once', async () => {
  const session = freshId();
  const welcome = { ...turnOf(session, 'added'), message: null, reply: 'Welcome' };
  expect(await chat.converse.reply(welcome)).toBe('Welcome');
  expect(await chat.converse.reply(welcome)).toBe('Welcome');
  const question = { ...turnOf(session), message: 'a question', signal };
  const first = await chat.converse.ask(question);
  expect(await chat.converse.ask(question)).toEqual(first);
  const slash = { ...turnOf(session), message: '/help', reply: 'Help yourself' };
  expect(await chat.converse.reply(slash)).toBe('Help yourself');
  expect(await chat.converse.reply({ ...slash, reply: 'another by now' })).toBe('Help yourself');
  await chat.converse.ask({ ...turnOf(session), message: 'another', signal });
  const { rows, told, count, person } = await stored(session);
  expect(rows.map(({ role, message }) => [role, message])).toEqual([
    ['assistant', 'Welcome'],
    ['user', 'a question'],
    ['assistant', first],
    ['user', '/help'],
    ['assistant', 'Help yourself'],
    ['user', 'another'],
    ['assistant', expect.any(String)],
  ]);
  expect([count, person]).toEqual([7, 'ada@example.com']);
  expect(chat.model.calls.at(-1)?.messages.map(({ content }) => content)).toEqual(
    rows.slice(0, -1).map(({ message }) => message),
  );
  expect(chat.model.calls.at(-1)?.caller).toEqual({ workspaceId: 'acme', email: 'ada@example.com' });
  expect(told).toEqual(
    [
      'chat.create',
      'messages.rag.bot.new',
      'messages.user.new',
      'messages.rag.persona.new',
      'messages.user.new',
      'messages.rag.bot.new',
      'messages.user.new',
      'messages.rag.persona.new',
    ].map((type) => `${type} ada@example.com`),
  );
});

test('an agent that is asked for by id answers this turn', async () => {
  await chat.putAgent('night', { name: 'Night', kind: 'agent', instructions: 'It is night.' });
  const session = freshId();
  await chat.converse.ask({ ...turnOf(session), message: 'day', signal });
  await chat.converse.ask({ ...turnOf(session), message: 'night', agentId: 'night', signal });
  expect(chat.model.calls.at(-1)?.messages[0]?.content).toBe('It is night.');
  await chat.converse.ask({ ...turnOf(session), message: 'day again', signal });
  expect(chat.model.calls.at(-1)?.messages[0]?.content).toBe('day');
  expect((await stored(session)).told.filter((told) => told.startsWith('chat.'))).toEqual([
    'chat.create ada@example.com',
  ]);
});

test('an edited question goes to the agent that it had asked for', async () => {
  await chat.putAgent('night', { name: 'Night', kind: 'agent', instructions: 'It is night.' });
  const session = freshId();
  await chat.converse.ask({ ...turnOf(session), message: 'night', agentId: 'night', signal });
  await chat.converse.ask({ ...turnOf(session), message: 'day', signal });
  const { rows } = await stored(session);
  const edited = async (index: number): Promise<number> => {
    const answer = await chat.edit(rows[index]?.message_id ?? 0, { message: `edited ${index}` });
    return (JSON.parse(answer.text) as { user_message_id: number }).user_message_id;
  };
  const again = await edited(0);
  expect(chat.model.calls.at(-1)?.messages[0]?.content).toBe('It is night.');
  expectStatus(await chat.edit(again, { message: 'edited again' }), 200);
  expect(chat.model.calls.at(-1)?.messages[0]?.content).toBe('It is night.');
  await edited(2);
  expect(chat.model.calls.at(-1)?.messages[0]?.content).not.toBe('It is night.');
});

test('a key without documents:read has no answer from an agent with knowledge; the platform has', async () => {
  await chat.putAgent('reader', { name: 'Reader', kind: 'persona', knowledge: 'documents' });
  const turn = () => ({ ...turnOf(freshId()), message: 'what?', agentId: 'reader', signal });
  const key = { keyId: '', email: 'bot@example.com', limits: {}, scopes: new Set(['bots'] as const) };
  await expect(chat.converse.ask({ ...turn(), key })).rejects.toMatchObject({ kind: 'forbidden' });
  const scopes = new Set(['bots', 'documents:read'] as const);
  expect(await chat.converse.ask({ ...turn(), key: { ...key, scopes } })).toBeDefined();
  expect(await chat.converse.ask(turn())).toBeDefined();
});

test('a key that names somebody else reads its owner’s documents, not theirs; the platform reads theirs', async () => {
  const readers: string[] = [];
  const searching = await setting.start({
    async searchDocuments({ email }) {
      readers.push(email);
      return { documents: [], total: 0 };
    },
  });
  await searching.putAgent('reader', { name: 'Reader', kind: 'persona', knowledge: 'documents' });
  const turn = () => ({ ...turnOf(freshId()), message: 'pump', agentId: 'reader', signal });
  const scopes = new Set(['bots', 'documents:read'] as const);
  await searching.converse.ask({
    ...turn(),
    key: { keyId: '', email: 'bot@example.com', limits: {}, scopes },
  });
  expect(new Set(readers.splice(0))).toEqual(new Set(['bot@example.com']));
  await searching.converse.ask(turn());
  expect(new Set(readers)).toEqual(new Set(['ada@example.com']));
});

test('an answer ends with a line for each of its sources that the person may see now', async () => {
  const found = (documentId: string, page: number | null) => ({
    documentId,
    name: `${documentId} <a|b>.pdf`,
    passage: 0,
    page,
    heading: null,
    text: 'x',
    score: 0.5,
  });
  const passages = [found('pump', 3), found('hidden', 1), found('valve', null)];
  const citing = await setting.start({ retrieve: async () => ({ passages }) });
  await citing.putAgent('reader', { name: 'Reader', kind: 'persona', knowledge: 'documents' });
  const turn = { ...turnOf(freshId()), agentId: 'reader', signal };
  const answer = await citing.converse.ask({ ...turn, message: 'pump [3] [1] [2] [1]' });
  expect(answer).toEndWith('to: pump [1] [2] [3] [2]\n\n[1] valve  a|b .pdf\n[2] pump  a|b .pdf, p. 3');
  const plain = await citing.converse.ask({ ...turn, requestKey: freshId(), message: 'pump' });
  expect(plain).toEndWith('to: pump');
});

test('who stops waiting finds the answer later', async () => {
  const session = freshId();
  const turn = { ...turnOf(session), message: '[wait 150] slow' };
  const impatient = AbortSignal.timeout(30);
  await expect(chat.converse.ask({ ...turn, signal: impatient })).rejects.toThrow();
  await eventually('the time to be over', () => impatient.aborted);
  const answer = await chat.converse.ask({ ...turn, signal });
  expect(answer).toContain('[wait 150] slow');
  expect(chat.model.calls.filter(({ messages }) => messages.at(-1)?.content === turn.message).length).toBe(1);
});

test('a failure is thrown, and the same turn again tries again', async () => {
  const turn = { ...turnOf(freshId()), message: '[fail upstream-failed] [once]' };
  await expect(chat.converse.ask({ ...turn, signal })).rejects.toMatchObject({ kind: 'upstream-failed' });
  const answer = await chat.converse.ask({ ...turn, signal });
  expect(answer).toContain('[once]');
});

test('the same turn twenty times at once is one turn, also where the session is new', async () => {
  const session = freshId();
  const ask = { ...turnOf(session), message: 'at once', signal };
  const answers = await Promise.all(Array.from({ length: 20 }, () => chat.converse.ask(ask)));
  expect(new Set(answers).size).toBe(1);
  const reply = { ...turnOf(session), message: null, reply: 'Hello' };
  await Promise.all(Array.from({ length: 20 }, () => chat.converse.reply(reply)));
  expect((await stored(session)).rows.length).toBe(3);
});
