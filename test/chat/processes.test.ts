// Several processes on one database: one answer whoever is asked, one order, and nothing hangs when one of them dies.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { unavailable } from '../../src/core/errors.ts';
import { expectRefusal, expectStatus } from '../acceptance/support/caller.ts';
import { type AnswerBody, eventsOf, freshId } from '../support/chat-client.ts';
import { eventually } from '../support/child.ts';
import { machineNow } from '../support/machine-time.ts';
import { createFakeModel } from './fake-model.ts';
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

const types = async (): Promise<string[]> =>
  (await setting.events())
    .map(({ type }) => type)
    .filter((type) => type.startsWith('messages'))
    .sort();

describe('two processes', () => {
  test('give one answer to a message that is sent to both at once', async () => {
    const { name, chat_session_id } = await one.newSession();
    const id = freshId();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? one : other).send(name, '[wait 100]', { id }),
      ),
    );
    for (const answer of answers) expectStatus(answer, 200);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const first = answers.filter(({ headers }) => headers.get('idempotent-replayed') !== 'true');
    expect(first.length).toBe(1);
    expect(one.model.calls.length + other.model.calls.length).toBe(1);
    expect(await types()).toEqual(['messages.rag.persona.new', 'messages.user.new']);
    expect((await other.transcript(chat_session_id)).length).toBe(2);
    // By a notice: looking every second would take two seconds for all four. Some may meet a pause of the machine.
    const lagOf = async (again: string): Promise<number> => {
      const endOf = (chat: ChatProcess) =>
        chat.send(name, '[wait 100]', { id: `${id}-${again}` }).then(machineNow);
      const [atOne, atOther] = await Promise.all([endOf(one), endOf(other)]);
      return Math.abs(atOne - atOther);
    };
    let leastMs = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 4 && leastMs >= 600; round++) {
      let lagMs = 0;
      for (const again of ['1', '2', '3', '4']) lagMs += await lagOf(`${round}-${again}`);
      leastMs = Math.min(leastMs, lagMs);
    }
    expect(leastMs).toBeLessThan(600);
  });

  test('keep one order', async () => {
    const { name, chat_session_id } = await one.newSession();
    const sendPatiently = async (index: number): Promise<void> => {
      const id = freshId();
      const chat = index % 2 === 0 ? one : other;
      while ((await chat.send(name, `[wait 2] ${index}`, { id })).status === 429) await Bun.sleep(10);
    };
    const startedAt = machineNow();
    await Promise.all(Array.from({ length: 30 }, (_, index) => sendPatiently(index)));
    // Looking every second would take half a second for each.
    expect(machineNow() - startedAt).toBeLessThan(14_000);
    const rows = await one.transcript(chat_session_id);
    expect(rows.length).toBe(60);
    expect(rows.slice(1).map(({ parent_message_id }) => parent_message_id)).toEqual(
      rows.slice(0, -1).map(({ message_id }) => message_id),
    );
    const made = rows.filter(({ role }) => role === 'assistant').map(({ created_at }) => created_at);
    expect(made).toEqual(made.toSorted());
  });

  test('a failure is told to those who wait elsewhere; a stream elsewhere gets the whole text', async () => {
    const { name } = await one.newSession();
    const id = freshId();
    const failing = one.send(name, '[wait 100] [fail unavailable]', { id });
    await waitFor(one, 1);
    expectRefusal(await other.send(name, '[wait 100] [fail unavailable]', { id }), 503);
    await failing;
    const slow = one.send(name, '[wait 100] stream', { id: 'stream' });
    await waitFor(one, 2);
    const events = eventsOf(
      (await other.send(name, '[wait 100] stream', { id: 'stream', stream: true })).text,
    );
    const { answer } = JSON.parse((await slow).text) as AnswerBody;
    expect(events.map(({ type }) => type)).toEqual(['start', 'delta', 'citations', 'end']);
    expect(events[1]).toEqual({ type: 'delta', text: answer });
  });

  test('an agent that is changed in one is changed in the other', async () => {
    const { name } = await one.newSession({ agi_id: 'helper' });
    await other.ask(name, 'before');
    await one.putAgent('helper', { name: 'Helper', kind: 'agent', model: 'm', instructions: 'Help.' });
    await eventually('the agent to be known', async () => {
      await other.ask(name, 'after');
      return other.model.calls.at(-1)?.messages[0]?.content === 'Help.';
    });
    expect(await types()).toContain('messages.rag.agent.new');
  });
});

describe('a process that dies', () => {
  test('leaves its answers to another, in their order, and its events', async () => {
    const { name, chat_session_id } = await one.newSession();
    const first = one.send(name, '[hold] first', { id: '0' });
    await waitFor(one, 1);
    void Promise.allSettled([first, one.send(name, 'second', { id: '1' })]);
    await eventually('both to be in line', async () => (await pending()) === 2);
    await one.sever();
    other.model.release();
    const answers = [other.send(name, '[hold] first', { id: '0' }), other.send(name, 'second', { id: '1' })];
    for (const answer of await Promise.all(answers)) expectStatus(answer, 200);
    expect(other.model.calls.map(({ messages }) => messages.at(-1)?.content)).toEqual([
      '[hold] first',
      'second',
    ]);
    const rows = await other.transcript(chat_session_id);
    expect(rows.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    const told = (await types()).filter((type) => type === 'messages.rag.persona.new');
    expect(told.length).toBe(2);
  });

  test('hands over at once when it is told to end, also what nobody asks for again', async () => {
    const { name, chat_session_id } = await one.newSession();
    other.model.release();
    void one.send(name, '[hold] left', { id: 'left' }).catch(() => undefined);
    await waitFor(one, 1);
    await one.stop();
    await eventually('the answer', async () => (await other.transcript(chat_session_id)).length === 2);
  });

  test('is not said to be dead by one that was silent, too: that one lets the others give a sign first', async () => {
    const owner = crypto.randomUUID();
    await setting.sql`
      INSERT INTO chat_processes (id, alive_until) VALUES (${owner}, now() - interval '1 minute')`;
    const session = await leftBehind(1, owner);
    const last = async () => (await one.transcript(session)).at(-1);
    // Both processes have just started, as after an outage of the database.
    for (let round = 0; round < 3; round++) await Promise.all([one.settle(), other.settle()]);
    expect((await last())?.role).toBe('user');
    await eventually('another process to make the answer', async () => (await last())?.role === 'assistant');
  });

  /** A session with a question whose answer was begun so often, by processes that have died. */
  async function leftBehind(attempts: number, owner = crypto.randomUUID()): Promise<number> {
    const { chat_session_id } = await one.newSession();
    await setting.sql`
      INSERT INTO chat_messages (id, session_id, workspace_id, role, message, answer_id)
      VALUES (900001, ${chat_session_id}, 'acme', 'user', 'poison', 900002)`;
    await setting.sql`
      INSERT INTO chat_messages (id, session_id, workspace_id, parent_id, role, message, state, place, owner, attempts,
        caller)
      VALUES (900002, ${chat_session_id}, 'acme', 900001, 'assistant', '', 'pending', 1, ${owner},
        ${attempts}, ${JSON.stringify({ email: 'a@example.com', readsAs: null })}::text::json)`;
    await setting.sql`UPDATE chat_sessions SET pending = 1 WHERE id = ${chat_session_id}`;
    return chat_session_id;
  }

  test('an answer that kills whoever makes it is given up', async () => {
    const session = await leftBehind(3);
    await eventually('it to fail', async () => {
      const rows = await one.transcript(session);
      return rows.at(-1)?.error_msg === 'The answer could not be made';
    });
    expect(one.model.calls.length + other.model.calls.length).toBe(0);
  });

  test('an answer that was asked for again and again is begun as often without being asked for as any', async () => {
    const model = createFakeModel();
    let asked = 0;
    const third = await setting.start({
      model: {
        ...model,
        async *streamChat(call) {
          asked += 1;
          if (asked <= 5) throw unavailable('the fake model is away');
          yield* model.streamChat(call);
        },
      },
    });
    const { name, chat_session_id } = await one.newSession();
    for (let count = 0; count < 5; count++)
      expectRefusal(await third.send(name, '[hold]', { id: 'again' }), 503);
    void third.send(name, '[hold]', { id: 'again' }).catch(() => undefined);
    await eventually('the model to be asked', () => model.running() === 1);
    other.model.release();
    one.model.release();
    await third.sever();
    const last = async () => (await one.transcript(chat_session_id)).at(-1);
    await eventually('the answer to end', async () => {
      const row = await last();
      return row?.role === 'assistant' && (row.message !== '' || row.error_msg !== null);
    });
    expect((await last())?.error_msg).toBeNull();
  });

  test('an answer whose end cannot be stored stays in line until it can be', async () => {
    await setting.sql`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$`;
    await setting.sql`
      CREATE TRIGGER refuse BEFORE UPDATE ON chat_messages FOR EACH ROW
      WHEN (OLD.state = 'pending' AND NEW.state IS DISTINCT FROM 'pending') EXECUTE FUNCTION refuse()`;
    const session = await leftBehind(3);
    const answer = async () => {
      const [row] = await setting.sql<{ state: string; attempts: number }[]>`
        SELECT state, attempts FROM chat_messages WHERE id = 900002`;
      return row;
    };
    await eventually('it to be taken over', async () => (await answer())?.attempts === 4);
    await Promise.all([one.settle(), other.settle()]);
    expect((await answer())?.state).toBe('pending');
    expect((await one.transcript(session)).at(-1)?.error_msg).toBeFalsy();
    await setting.sql`DROP TRIGGER refuse ON chat_messages`;
    // As if its process had had the time to know of it.
    await setting.sql`UPDATE chat_messages SET created_at = now() - interval '1 minute' WHERE id = 900002`;
    await eventually('it to be given up', async () => (await answer())?.state === 'failed');
  });

  test('an answer that was begun twice is begun a third time', async () => {
    const session = await leftBehind(2);
    await eventually('it to be answered', async () => {
      const last = (await one.transcript(session)).at(-1);
      return last?.role === 'assistant' && last.message !== '';
    });
    expect(one.model.calls.length + other.model.calls.length).toBe(1);
  });
});

describe('a session that is deleted', () => {
  test('ends every wait for it', async () => {
    const { name, chat_session_id } = await one.newSession();
    const first = one.send(name, '[hold]', { id: '0' });
    await waitFor(one, 1);
    const sent = [first, one.send(name, 'behind it', { id: '1' }), other.send(name, '[hold]', { id: '0' })];
    await eventually('both to be in line', async () => (await pending()) === 2);
    expectStatus(await other.removeSession(chat_session_id), 204);
    one.model.release();
    for (const answer of await Promise.all(sent)) expectRefusal(answer, 404);
    expect(await types()).not.toContain('messages.rag.persona.new');
    const again = await one.newSession({ channel_session_id: name });
    expect(again.chat_session_id).not.toBe(chat_session_id);
    await one.ask(name, 'anew', { id: '0' });
  });
});

const waits = (chat: ChatProcess, calls: number): boolean => chat.model.calls.length === calls;
const waitFor = (chat: ChatProcess, calls: number) =>
  eventually('the model to be asked', () => waits(chat, calls));

async function pending(): Promise<number> {
  const [row] = await setting.sql<{ count: number }[]>`
    SELECT count(*)::int AS count FROM chat_messages WHERE state = 'pending'`;
  return row?.count ?? 0;
}
