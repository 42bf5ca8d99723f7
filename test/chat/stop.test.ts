// An answer that is being made is stopped: by those who may, in whatever process it is made, and what was said is kept.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { expectRefusal, expectStatus } from '../acceptance/support/caller.ts';
import { type ChatClient, eventsOf, freshId, type StreamEvent } from '../support/chat-client.ts';
import { eventually } from '../support/child.ts';
import { createFakeModel } from './fake-model.ts';
import { type ChatProcess, type ChatSetting, KEY, keyOf, startSetting } from './setting.ts';

let setting: ChatSetting;
let one: ChatProcess;
let other: ChatProcess;
beforeEach(async () => {
  setting = await startSetting();
  one = await setting.start();
  other = await setting.start();
});
afterEach(() => setting[Symbol.asyncDispose]());

/** The fake model says this, and then waits until it is cancelled. */
const HELD = '[hold] question';
const SAID = 'Answer ';

const running = (chat: ChatProcess) => eventually('the model to be asked', () => chat.model.running() > 0);
const stopped = (chat: ChatProcess) => eventually('the model to be left', () => chat.model.running() === 0);

/** A question whose answer is being made, its ids, and its answer. */
async function asking(chat: ChatProcess, { as = chat as ChatClient, stream = false, question = HELD } = {}) {
  const { name, chat_session_id: session } = await as.newSession();
  const id = freshId();
  const answer = as.send(name, question, { id, stream });
  await running(chat);
  const [row] = await setting.sql<{ id: number; answer: number }[]>`
    SELECT id, answer_id AS answer FROM chat_messages WHERE session_id = ${session} AND role = 'user'`;
  if (row === undefined) throw new Error('the question was not stored');
  return { name, session, id, question, answer, questionId: row.id, answerId: row.answer };
}

const types = async (): Promise<string[]> =>
  (await setting.events()).map(({ type }) => type).filter((type) => type.startsWith('messages'));

describe('an answer with a first word', () => {
  test.each([
    ['this process', () => one],
    ['another process', () => other],
  ])('ends where it is, stopped by %s, and is the answer from then on', async (_where, by) => {
    const { name, session, id, question, answer, questionId, answerId } = await asking(one);
    expectStatus(await by().stopAnswer(questionId), 204);
    await stopped(one);
    const whole = await answer;
    expectStatus(whole, 200);
    const body = JSON.parse(whole.text);
    expect(body).toMatchObject({
      answer: SAID,
      finish_reason: 'stopped',
      message_id: answerId,
      error_msg: null,
    });
    expect((await one.transcript(session)).at(-1)).toMatchObject({ message: SAID, error_msg: null });
    const again = await by().send(name, question, { id });
    expect([again.headers.get('idempotent-replayed'), JSON.parse(again.text)]).toEqual(['true', body]);
    expect(await types()).toEqual(['messages.user.new', 'messages.rag.persona.new']);
    for (const messageId of [questionId, answerId]) expectStatus(await by().stopAnswer(messageId), 204);
    expect(one.model.calls.length + other.model.calls.length).toBe(1);
  });

  test('ends its stream with what was said, by the id that the stream begins with', async () => {
    const { answer, answerId } = await asking(one, { stream: true });
    expectStatus(await other.stopAnswer(answerId), 204);
    const events: StreamEvent[] = eventsOf((await answer).text);
    expect(events.map(({ type }) => type)).toEqual(['start', 'delta', 'citations', 'end']);
    expect(events[0]).toMatchObject({ message_id: answerId });
    expect(events.at(-1)).toMatchObject({ answer: SAID, finish_reason: 'stopped' });
  });

  test('is stopped also where the model heeds no signal, and what it says later is not part of it', async () => {
    const { name, answer, questionId } = await asking(one, { question: '[deaf] question' });
    expectStatus(await one.stopAnswer(questionId), 204);
    expect(JSON.parse((await answer).text)).toMatchObject({ answer: SAID, finish_reason: 'stopped' });
    one.model.release();
    await stopped(one);
    const { answer: next } = await one.ask(name, 'next');
    expect(next).toContain('next');
    expect(one.model.calls.at(-1)?.messages).toMatchObject([
      { content: '[deaf] question' },
      { content: SAID },
      { content: 'next' },
    ]);
  });

  test('is stopped by a process that gets no notice, within the next looks', async () => {
    const { answer, answerId } = await asking(one);
    await setting.sql`
      UPDATE chat_messages SET stopped = true WHERE id = ${answerId}`;
    expect(JSON.parse((await answer).text)).toMatchObject({ answer: SAID, finish_reason: 'stopped' });
  });
});

describe('an answer without a word', () => {
  test('in the queue fails at once with its reason, and is made when it is asked for again', async () => {
    const first = await asking(one);
    const id = freshId();
    const second = one.send(first.name, 'second', { id });
    const waiting = await eventually('the question to wait', async () => {
      const [row] = await setting.sql<{ id: number }[]>`
        SELECT answer_id AS id FROM chat_messages WHERE session_id = ${first.session} AND message = 'second'`;
      return row?.id;
    });
    expectStatus(await other.stopAnswer(waiting), 204);
    expectRefusal(await second, 409);
    expect((await one.transcript(first.session)).at(-1)).toMatchObject({
      message_id: waiting,
      error_msg: 'The answer was stopped',
    });
    expectStatus(await one.stopAnswer(waiting), 204);
    expect(one.model.running()).toBe(1);
    expectStatus(await one.stopAnswer(first.questionId), 204);
    expectStatus(await first.answer, 200);
    expect(one.model.calls.length).toBe(1);
    expect(await types()).toEqual(['messages.user.new', 'messages.user.new', 'messages.rag.persona.new']);
    expect((await one.ask(first.name, 'second', { id })).answer).toContain('second');
    expectRefusal(await one.stopAnswer(waiting), 409);
  });

  test('stays stopped when its process dies', async () => {
    const { answer, session, answerId } = await asking(one);
    answer.catch(() => undefined);
    await one.sever();
    expectStatus(await other.stopAnswer(answerId), 204);
    await eventually(
      'another process to end it',
      async () => (await other.transcript(session)).at(-1)?.error_msg === 'The answer was stopped',
    );
    expect(other.model.calls).toEqual([]);
  }, 60_000);
});

describe('who may', () => {
  test('is whoever reaches the conversation, and no other', async () => {
    const ada = keyOf('ada');
    const { answer, questionId } = await asking(one, { as: one.as(ada) });
    expectRefusal(await one.as(keyOf('eve')).stopAnswer(questionId), 404);
    expect(one.model.running()).toBe(1);
    expectStatus(await one.as(KEY).stopAnswer(questionId), 204);
    expectStatus(await answer, 200);
    const own = await asking(one, { as: one.as(ada) });
    expectStatus(await other.as(ada).stopAnswer(own.questionId), 204);
    expectStatus(await own.answer, 200);
  });

  test('finds no answer where there is none, and none that can be stopped where it has ended', async () => {
    const { name, chat_session_id } = await one.newSession();
    const { user_message_id: question, message_id: answer } = await one.ask(name, 'done');
    for (const id of [question, answer]) expectRefusal(await one.stopAnswer(id), 409);
    expectRefusal(await one.stopAnswer(999_999_999), 404);
    const said = { message: 'Hello', agent_id: 'a@example.com' };
    const { text } = await one.addAgentMessage(chat_session_id, said);
    expectRefusal(await one.stopAnswer(JSON.parse(text).message_id), 404);
    expectStatus(await one.remove(question), 204);
    expectRefusal(await one.stopAnswer(question), 404);
    const failed = await one.send(name, '[fail upstream-failed]', { id: 'f' });
    expectRefusal(failed, 502);
  });
});

test('an answer that ends at the same moment is either stopped or not', async () => {
  const model = createFakeModel();
  const chat = await setting.start({ model });
  for (let round = 0; round < 20; round++) {
    const { name, chat_session_id: session } = await chat.newSession();
    const answer = chat.send(name, `[wait ${round % 5}] hello`);
    const row = await eventually('the question', async () => {
      const [found] = await setting.sql<{ id: number }[]>`
        SELECT id FROM chat_messages WHERE session_id = ${session} AND role = 'user'`;
      return found;
    });
    const [stop, { status, text }] = await Promise.all([other.stopAnswer(row.id), answer]);
    const { finish_reason: reason } = JSON.parse(text);
    expect([
      [204, 200, 'stopped'],
      [204, 409, undefined],
      [409, 200, 'stop'],
    ]).toContainEqual([stop.status, status, reason]);
    expect((await chat.transcript(session)).length).toBe(2);
  }
});
