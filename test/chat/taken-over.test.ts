// One process takes over what another one is making: exactly one attempt counts, and the other stops, stores nothing and
// sends nothing more.

import { afterEach, beforeEach, expect, test } from 'bun:test';
import { expectStatus } from '../acceptance/support/caller.ts';
import { type AnswerBody, eventsOf } from '../support/chat-client.ts';
import { eventually } from '../support/child.ts';
import { type ChatProcess, type ChatSetting, startSetting } from './setting.ts';

let setting: ChatSetting;
let one: ChatProcess;
let other: ChatProcess;
beforeEach(async () => {
  setting = await startSetting();
  one = await setting.start();
  other = await setting.start();
});
afterEach(() => setting[Symbol.asyncDispose]());

const running = (chat: ChatProcess) => eventually('the model to be asked', () => chat.model.running() === 1);

/** The other process finds that the maker of the pending answer has no lease. */
const takeOver = () =>
  eventually('the answer to be taken over', async () => {
    await setting.sql`DELETE FROM chat_processes WHERE id = (SELECT owner FROM chat_messages WHERE attempts = 1)`;
    await other.settle();
    return other.model.running() === 1;
  });

const answers = async () =>
  (await setting.events()).filter(({ type }) => type.startsWith('messages.rag')).length;

test('its call is ended at once, who was told a part is told so, and who was told nothing gets the other answer', async () => {
  const { name, chat_session_id } = await one.newSession();
  const stream = one.send(name, '[hold] question', { id: '1', stream: true });
  await running(one);
  const whole = one.send(name, '[hold] question', { id: '1' });
  await takeOver();
  await one.settle();
  await eventually('the first call to be ended', () => one.model.running() === 0);
  expect(eventsOf((await stream).text).slice(1)).toEqual([
    { type: 'delta', text: 'Answer ' },
    {
      type: 'error',
      error_msg: 'Another process has taken over the answer; the same message again gives it',
      status: 503,
    },
  ]);
  other.model.release();
  const answered = await whole;
  expectStatus(answered, 200);
  const { answer } = JSON.parse(answered.text) as AnswerBody;
  expect((await one.transcript(chat_session_id)).map(({ message }) => message)).toEqual([
    '[hold] question',
    answer,
  ]);
  expect(await answers()).toBe(1);
  expect(await one.ask(name, '[hold] question', { id: '1' })).toMatchObject({ answer });
});

test('at its end: what was made in the meantime is not stored', async () => {
  const { name, chat_session_id } = await one.newSession();
  const whole = one.send(name, '[hold] question', { id: '1' });
  await running(one);
  // Another process has taken the answer over, and this one does not know it yet.
  await setting.sql`UPDATE chat_messages SET attempts = 2 WHERE state = 'pending'`;
  one.model.release();
  await eventually('the model to have answered', () => one.model.running() === 0);
  await one.settle();
  expect(await answers()).toBe(0);
  await setting.sql`
    UPDATE chat_messages SET state = 'done', owner = NULL, place = NULL, message = 'of the other', finish_reason = 'stop',
      prompt_tokens = 0, completion_tokens = 0 WHERE state = 'pending'`;
  await setting.sql`UPDATE chat_sessions SET pending = 0, message_count = 2`;
  const { answer } = JSON.parse((await whole).text) as AnswerBody;
  expect(answer).toBe('of the other');
  expect((await one.transcript(chat_session_id)).map(({ message }) => message)).toEqual([
    '[hold] question',
    'of the other',
  ]);
});
