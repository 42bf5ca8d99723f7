// A message is answered once, with memory, in order, whatever the model does.

import { describe, expect, test } from 'bun:test';
import { type Answer, expectRefusal, expectStatus } from '../acceptance/support/caller.ts';
import { type AnswerBody, eventsOf, freshId } from '../support/chat-client.ts';
import { eventually } from '../support/child.ts';
import { shared } from '../support/shared.ts';
import { createFakeModel } from './fake-model.ts';
import { EMAIL, KEY, startSetting } from './setting.ts';

const setting = await shared(startSetting());
const chat = await setting.start();

const lastCall = () => chat.model.calls.at(-1);
const asked = (text: string): number =>
  chat.model.calls.filter(({ messages }) => messages.at(-1)?.content === text).length;

/** Answers that are not marked as repeats. */
const unmarked = (answers: readonly Answer[]): number =>
  answers.filter(({ headers }) => headers.get('idempotent-replayed') !== 'true').length;

describe('idempotency', () => {
  test('an answered message again is the stored answer, without a model and without events', async () => {
    const { name } = await chat.newSession();
    const id = freshId();
    const first = await chat.send(name, 'once', { id });
    const before = await setting.events();
    const again = await chat.send(name, 'once', { id, answerId: 'another' });
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.text).toBe(first.text);
    expect(asked('once')).toBe(1);
    expect(await setting.events()).toEqual(before);
  });

  test('a message in flight is waited for, by any number', async () => {
    const { name, chat_session_id } = await chat.newSession();
    const id = freshId();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        chat.send(name, '[wait 100] twins', { id, stream: index % 4 === 3 }),
      ),
    );
    for (const answer of answers) expectStatus(answer, 200);
    const bodies = answers.map(({ text, headers }) => {
      const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
      const { type: _, ...body } = isStream ? (eventsOf(text).at(-1) ?? {}) : JSON.parse(text);
      return JSON.stringify(body);
    });
    expect(new Set(bodies).size).toBe(1);
    expect(unmarked(answers)).toBe(1);
    expect(asked('[wait 100] twins')).toBe(1);
    expect((await chat.transcript(chat_session_id)).length).toBe(2);
  });

  test('the same edit twenty times at once is the first one once, and nineteen repeats', async () => {
    const { name } = await chat.newSession();
    const { user_message_id } = await chat.ask(name, 'to be edited');
    const json = { message: '[wait 100] edited at once' };
    const answers = await Promise.all(Array.from({ length: 20 }, () => chat.edit(user_message_id, json)));
    for (const answer of answers) expectStatus(answer, 200);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(unmarked(answers)).toBe(1);
  });

  test('twins do not count among those who wait', async () => {
    const model = createFakeModel();
    let accepted = 0;
    const onStatement = (text: string): void => {
      if (text.includes('AS "isMine"') && text.includes('q.request_key')) accepted += 1;
    };
    const own = await setting.start({ model, onStatement });
    const { name } = await own.newSession();
    const ids = Array.from({ length: 9 }, freshId);
    const sendAll = () => ids.map((id) => own.send(name, '[hold] line', { id }));
    const leading = ids.slice(0, 1).map((id) => own.send(name, '[hold] line', { id }));
    await eventually('the first of them in line', async () => (await pending(name)) === 1);
    const first = sendAll();
    await eventually('all of them in line', async () => (await pending(name)) === 9);
    const twins = sendAll();
    await eventually('all twins to be taken', () => accepted >= 1 + 2 * ids.length);
    model.release();
    for (const answer of await Promise.all([...leading, ...first, ...twins])) expectStatus(answer, 200);
  });

  test('the same id with another text is refused', async () => {
    const { name } = await chat.newSession();
    const id = freshId();
    await chat.ask(name, 'one text', { id });
    const answer = await chat.send(name, 'another text', { id });
    const error = 'a message of this id was sent before, with another text';
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      422,
      {
        detail: [
          {
            type: 'value_error',
            loc: ['body', 'channel_user_message_id'],
            msg: `Value error, ${error}`,
            input: id,
            ctx: { error },
          },
        ],
      },
    ]);
  });
});

describe('failures of the model', () => {
  const STATUS = {
    'upstream-failed': 502,
    'upstream-timeout': 504,
    'too-many-requests': 429,
    unavailable: 503,
    'not-found': 502,
  };
  for (const [kind, status] of Object.entries(STATUS)) {
    test(`${kind} is ${status}; the message is kept, and answered when it is sent again`, async () => {
      const { name, chat_session_id } = await chat.newSession();
      const text = `[fail ${kind}] [once] ${freshId()}`;
      const id = freshId();
      const answer = await chat.send(name, text, { id });
      const sentence = expectRefusal(answer, status);
      if (kind === 'not-found') expect(sentence).toBe('The model of the agent cannot be asked');
      else expect([sentence, answer.headers.get('retry-after')]).toEqual([`fake ${kind}`, '7']);
      const [question, failed] = await chat.transcript(chat_session_id);
      expect([question?.message, question?.role]).toEqual([text, 'user']);
      expect([failed?.message, failed?.role, failed?.error_msg]).toEqual(['', 'assistant', sentence]);
      const again = await chat.ask(name, text, { id });
      expect([again.user_message_id, again.message_id]).toEqual([
        question?.message_id ?? 0,
        failed?.message_id ?? 0,
      ]);
      const rows = await chat.transcript(chat_session_id);
      expect(rows.map(({ message, error_msg }) => [message, error_msg])).toEqual([
        [text, null],
        [again.answer, null],
      ]);
      const told = (await setting.events()).filter(({ data }) => data['chat_session_id'] === chat_session_id);
      expect(told.map(({ type }) => type)).toEqual([
        'chat.create',
        'messages.user.new',
        'messages.rag.persona.new',
      ]);
    });
  }

  test('what breaks off or is our own mistake is told so, and the line goes on', async () => {
    const { name } = await chat.newSession();
    const answers = await Promise.all([
      chat.send(name, '[cut]'),
      chat.send(name, '[crash]'),
      chat.send(name, 'after'),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([502, 500, 200]);
    expect(answers[1]?.text).toBe('{"detail":"Internal Server Error"}');
  });

  test('those who wait for a failing twin are told the same', async () => {
    const { name } = await chat.newSession();
    const id = freshId();
    const send = () => chat.send(name, '[wait 50] [fail upstream-failed]', { id });
    const answers = await Promise.all([send(), send(), send()]);
    expect(answers.map(({ status }) => status)).toEqual([502, 502, 502]);
  });
});

describe('memory', () => {
  test('the model is shown the branch before the question, within messages and tokens', async () => {
    await chat.putAgent('forgetful', {
      name: 'Forgetful',
      kind: 'persona',
      model: 'm',
      instructions: 'Be brief.',
      history_messages: 4,
      history_tokens: 40,
      temperature: 0.5,
    });
    const { name } = await chat.newSession({ agi_id: 'forgetful' });
    for (const text of ['one', 'two', 'three']) await chat.ask(name, text);
    const call = lastCall();
    expect(call?.messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
    ]);
    expect(call?.messages[0]?.content).toBe('Be brief.');
    expect(call?.messages[1]?.content).toBe('one');
    expect([call?.model, call?.temperature]).toEqual(['m', 0.5]);
    expect(call?.caller).toEqual({
      workspaceId: 'acme',
      email: EMAIL,
      keyId: '019a9f3e-8d00-7c31-8e02-51b7c9d0e4f2',
      limits: { requests_per_minute: 100 },
    });
    await chat.ask(name, 'x'.repeat(200));
    await chat.ask(name, 'after a long one');
    // The long one and its answer do not fit.
    expect(lastCall()?.messages.map(({ content }) => content)).toEqual(['Be brief.', 'after a long one']);
  });

  test('an edited message is answered beside the old one, and the conversation goes on from there', async () => {
    const { name, chat_session_id } = await chat.newSession();
    const first = await chat.ask(name, 'first');
    const second = await chat.ask(name, 'second');
    await chat.ask(name, 'third');
    const edited = JSON.parse(
      (await chat.edit(second.user_message_id, { message: 'second, better' })).text,
    ) as AnswerBody;
    expect(lastCall()?.messages.map(({ content }) => content)).toEqual([
      'first',
      first.answer,
      'second, better',
    ]);
    expect(edited.channel_user_message_id).toBe(second.channel_user_message_id);
    await chat.ask(name, 'fourth');
    expect(lastCall()?.messages.map(({ content }) => content)).toEqual([
      'first',
      first.answer,
      'second, better',
      edited.answer,
      'fourth',
    ]);
    const rows = await chat.transcript(chat_session_id);
    const parentOf = (id: number) => rows.find(({ message_id }) => message_id === id)?.parent_message_id;
    expect(parentOf(second.user_message_id)).toBe(first.message_id);
    expect(parentOf(edited.user_message_id)).toBe(first.message_id);
    const again = await chat.edit(second.user_message_id, { message: 'second, better' });
    expect([again.headers.get('idempotent-replayed'), JSON.parse(again.text)]).toEqual(['true', edited]);
  });

  test("what was deleted is not shown any more, a person's words are", async () => {
    const { name, chat_session_id } = await chat.newSession();
    const first = await chat.ask(name, 'a secret', { id: 'secret' });
    await chat.ask(name, 'harmless');
    expectStatus(await chat.remove(first.user_message_id), 204);
    const words = { message: 'I am a person', agent_id: 'grace@example.com' };
    expectStatus(await chat.addAgentMessage(chat_session_id, words), 201);
    await chat.ask(name, 'and now?');
    const shown = lastCall()?.messages ?? [];
    expect(shown.map(({ content }) => content)).toEqual([
      'harmless',
      expect.any(String),
      'I am a person',
      'and now?',
    ]);
    expect(shown[2]?.role).toBe('assistant');
    expectRefusal(await chat.send(name, 'a secret', { id: 'secret' }), 404);
    const [{ count } = { count: -1 }] = await setting.sql<{ count: number }[]>`
      SELECT count(*)::int AS count FROM chat_messages WHERE message LIKE '%a secret%'`;
    expect(count).toBe(0);
  });
});

describe('what is deleted while a question stands in line', () => {
  test.each([false, true])(
    'is not shown to the model for it (line of another process: %p)',
    async (elsewhere) => {
      const model = createFakeModel();
      const [one, other] = await Promise.all([setting.start({ model }), setting.start({ model })]);
      const { name } = await one.newSession();
      const secret = await one.ask(name, 'a secret');
      const kept = await one.ask(name, 'harmless');
      const first = one.send(name, '[hold] first');
      await eventually('the model to be asked', () => model.running() === 1);
      const next = (elsewhere ? other : one).send(name, 'next');
      await eventually('both in line', async () => (await pending(name)) === 2);
      expectStatus(await one.remove(secret.user_message_id), 204);
      model.release();
      for (const answer of await Promise.all([first, next])) expectStatus(answer, 200);
      const { messages } = model.calls.find((call) => call.messages.at(-1)?.content === 'next') ?? {};
      expect(messages?.map(({ content }) => content)).toEqual([
        'harmless',
        kept.answer,
        '[hold] first',
        expect.any(String),
        'next',
      ]);
    },
  );
});

test.each([false, true])(
  'a question that is deleted while it stands in line is not asked (deleted by another process: %p)',
  async (elsewhere) => {
    const model = createFakeModel();
    const [one, other] = await Promise.all([setting.start({ model }), setting.start({ model })]);
    const { name, chat_session_id } = await one.newSession();
    const first = one.send(name, '[hold] first');
    await eventually('the model to be asked', () => model.running() === 1);
    const regretted = one.send(name, 'regretted', { id: 'regretted' });
    await eventually('both in line', async () => (await pending(name)) === 2);
    const last = one.send(name, 'last');
    await eventually('all in line', async () => (await pending(name)) === 3);
    const [{ id } = { id: 0 }] = await setting.sql<{ id: number }[]>`
      SELECT id FROM chat_messages WHERE session_id = ${chat_session_id} AND message = 'regretted'`;
    expectStatus(await (elsewhere ? other : one).remove(id), 204);
    expect(expectRefusal(await regretted, 404)).toBe('The message was deleted');
    model.release();
    for (const answer of await Promise.all([first, last])) expectStatus(answer, 200);
    expect(model.calls.map(({ messages }) => messages.at(-1)?.content)).toEqual(['[hold] first', 'last']);
    const rows = await one.transcript(chat_session_id);
    expect(rows.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    const { items } = JSON.parse((await one.sessions({ limit: 1 })).text) as {
      items: { message_count: number }[];
    };
    expect(items[0]?.message_count).toBe(4);
    expectRefusal(await one.send(name, 'regretted', { id: 'regretted' }), 404);
  },
);

test('a question that failed, and is deleted while it is sent again, stays deleted, and is not counted', async () => {
  const { name, chat_session_id } = await chat.newSession();
  const text = '[fail upstream-failed] once';
  expectRefusal(await chat.send(name, text, { id: 'failed' }), 502);
  const [question] = await chat.transcript(chat_session_id);
  const waiting = async (): Promise<number> => {
    const [{ count } = { count: 0 }] = await setting.sql<{ count: number }[]>`
      SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    return count;
  };
  const holder = setting.sql.reserve();
  await holder.unsafe(`BEGIN; SELECT FROM chat_sessions WHERE id = ${chat_session_id} FOR UPDATE`);
  const removed = chat.remove(question?.message_id ?? 0);
  await eventually('the deletion to wait', async () => (await waiting()) === 1);
  const again = chat.send(name, text, { id: 'failed' });
  await eventually('both to wait', async () => (await waiting()) === 2);
  await holder.unsafe('COMMIT');
  holder.release();
  expectStatus(await removed, 204);
  expect(expectRefusal(await again, 404)).toBe('The message was deleted');
  const [session] = await setting.sql`
    SELECT message_count, pending FROM chat_sessions WHERE id = ${chat_session_id}`;
  expect(session).toEqual({ message_count: 0, pending: 0 });
});

describe('order', () => {
  test('fifty messages at once are answered one by one in order of arrival; who finds the line full comes again', async () => {
    const { name, chat_session_id } = await chat.newSession();
    let refused = 0;
    let most = 0;
    const sendPatiently = async (text: string): Promise<AnswerBody> => {
      const id = freshId();
      for (;;) {
        const answer = await chat.send(name, text, { id });
        most = Math.max(most, await pending(name));
        if (answer.status === 200) return JSON.parse(answer.text) as AnswerBody;
        expectStatus(answer, 429);
        expect(answer.headers.get('retry-after')).toBe('2');
        refused += 1;
        await Bun.sleep(10);
      }
    };
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => sendPatiently(`[wait 3] message ${index}`)),
    );
    expect(refused).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(9);
    const rows = await chat.transcript(chat_session_id);
    expect(rows.length).toBe(100);
    // One chain: each question follows the answer before it, and the model was asked in the same order.
    const byId = rows.toSorted((a, b) => a.message_id - b.message_id);
    expect(byId.map(({ parent_message_id }) => parent_message_id)).toEqual([
      null,
      ...byId.slice(0, -1).map(({ message_id }) => message_id),
    ]);
    const made = answers.toSorted((a, b) => a.message_id - b.message_id).map(({ created_at }) => created_at);
    expect(made).toEqual(made.toSorted());
    const calls = chat.model.calls.map(({ messages }) => messages.at(-1)?.content ?? '');
    const questions = byId.filter(({ role }) => role === 'user').map(({ message }) => message);
    expect(calls.filter((text) => text.startsWith('[wait 3] message '))).toEqual(questions);
  });

  test('sessions do not wait for each other', async () => {
    const model = createFakeModel();
    const own = await setting.start({ model });
    const sessions = await Promise.all(Array.from({ length: 20 }, () => own.newSession()));
    const answers = sessions.map(({ name }) => own.send(name, '[hold]'));
    await eventually('all of them to be answered at once', () => model.running() === 20);
    model.release();
    for (const answer of await Promise.all(answers)) expectStatus(answer, 200);
  });
});

describe('streams', () => {
  const readSome = async (response: Response, until: string): Promise<string> => {
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = '';
    while (!text.includes(until)) text += new TextDecoder().decode((await reader.read()).value);
    await reader.cancel();
    return text;
  };
  const request = (session: string, json: unknown): Request =>
    new Request(`http://localhost${chat.sendPath(session)}`, {
      method: 'POST',
      headers: { 'svc-key': KEY, accept: 'text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify(json),
    });

  test('tell the ids, the text as it comes, what is cited, and the whole', async () => {
    const { name } = await chat.newSession();
    const answer = await chat.send(name, 'stream', { stream: true });
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    const events = eventsOf(answer.text);
    const { type, ...body } = events.at(-1) as { type: string } & AnswerBody;
    expect(type).toBe('end');
    expect(events.slice(0, -1)).toEqual([
      { type: 'start', message_id: body.message_id, user_message_id: body.user_message_id },
      { type: 'delta', text: 'Answer ' },
      { type: 'delta', text: body.answer.slice('Answer '.length) },
      { type: 'citations', citations: [] },
    ]);
    const id = body.channel_user_message_id ?? '';
    expect(JSON.parse((await chat.send(name, 'stream', { id })).text)).toEqual(body);
  });

  test('a reader that leaves does not lose the answer', async () => {
    const { name } = await chat.newSession();
    const json = {
      message: '[wait 150] left',
      channel_user_message_id: 'u',
      channel_assistant_message_id: 'a',
    };
    await readSome(await chat.fetch(request(name, json)), '"delta"');
    const answer = await chat.ask(name, '[wait 150] left', { id: 'u' });
    expect(answer.answer).toContain('[wait 150] left');
    expect(asked('[wait 150] left')).toBe(1);
  });

  test('a failure amid the text is told as an event', async () => {
    const { name } = await chat.newSession();
    const events = eventsOf((await chat.send(name, '[fail upstream-timeout]', { stream: true })).text);
    expect(events.slice(1)).toEqual([
      { type: 'delta', text: 'Answer ' },
      { type: 'error', error_msg: 'fake upstream-timeout', status: 504 },
    ]);
  });

  test('what is refused before it is taken is refused as ever', async () => {
    expectRefusal(await chat.send(freshId(), 'nowhere', { stream: true }), 404);
  });
});

/** Answers of a session that are pending. */
async function pending(name: string): Promise<number> {
  const [row] = await setting.sql<{ count: number }[]>`
    SELECT count(*)::int AS count FROM chat_messages m JOIN chat_sessions s ON s.id = m.session_id
    WHERE s.channel_session_id = ${name} AND m.state = 'pending'`;
  return row?.count ?? 0;
}
