// A channel: it sends the messages of its conversation one after the other, each again until it is answered, sometimes twice at
// once. In the end each message is one question, one answer and one set of events, in the order in which they were sent.

import type { MetricRecord } from '../../../acceptance/support/metrics.ts';
import { type AnswerBody, createChatClient, type SessionCreated } from '../../../support/chat-client.ts';
import type { Client, Desk } from '../client.ts';

export async function createChannelClient(desk: Desk): Promise<Client> {
  const { random } = desk;
  const chat = createChatClient(desk.call, {
    workspace: desk.workspace,
    key: desk.adminKey,
    channel: `web/widget/${random.below(1e9)}`,
  });
  const name = `session ${random.below(1e9)}`;
  let session: SessionCreated | undefined;
  /** What was answered to each message, in the order in which they were first sent. */
  const told = new Map<string, Set<string>>();
  let current: string | undefined;

  /** True once there is a session. */
  const open = async (): Promise<boolean> => {
    if (session !== undefined) return true;
    const json = { agi_id: 'nobody', channel_session_id: name };
    const answer = await desk.attempt([200], () => chat.createSession(json));
    if (answer !== undefined) session = JSON.parse(answer.text) as SessionCreated;
    return session !== undefined;
  };
  /** True once the message is answered. */
  const send = async (text: string): Promise<boolean> => {
    const stream = random.chance(0.2);
    const answer = await desk.attempt([200], () => chat.send(name, text, { id: text, stream }));
    if (answer === undefined) return false;
    const body = stream ? endOf(answer.text) : (JSON.parse(answer.text) as AnswerBody);
    if (body === undefined) return false;
    told.get(text)?.add(JSON.stringify([body.user_message_id, body.message_id, body.answer]));
    return true;
  };
  const advance = async (): Promise<void> => {
    if (!(await open())) return;
    const text = current ?? `message ${told.size} of ${name}`;
    current = text;
    if (!told.has(text)) told.set(text, new Set());
    const answered = await Promise.all(random.chance(0.25) ? [send(text), send(text)] : [send(text)]);
    if (answered.every(Boolean)) current = undefined;
  };
  return {
    async work() {
      while (!desk.isOver()) {
        await advance();
        await desk.pause();
      }
    },
    async settle() {
      for (let attempt = 0; current !== undefined && attempt < 40; attempt++) {
        await advance();
        if (current !== undefined) await Bun.sleep(250);
      }
      if (current !== undefined) desk.violate('a message is answered in the end', current);
    },
    keep() {
      const kept = {
        session,
        current,
        told: [...told].map(([text, answers]) => [text, new Set(answers)] as const),
      };
      return () => {
        ({ session, current } = kept);
        told.clear();
        for (const [text, answers] of kept.told) told.set(text, answers);
      };
    },
    async check({ events }) {
      if (session === undefined) return [];
      const rows = await chat.transcript(session.chat_session_id);
      const questions = rows.filter(({ role }) => role === 'user').map(({ message }) => message);
      const expected = [...told.keys()];
      const problems = [];
      if (!Bun.deepEquals(questions, expected))
        problems.push(`questions are stored once and in order: ${questions}, not ${expected}`);
      if (rows.length !== 2 * expected.length)
        problems.push(`each question has one answer: ${rows.length} rows for ${expected.length} questions`);
      const parents = rows.slice(1).map(({ parent_message_id: parent }) => parent);
      if (
        !Bun.deepEquals(
          parents,
          rows.slice(0, -1).map(({ message_id }) => message_id),
        )
      )
        problems.push('a conversation is one branch');
      for (const [index, text] of expected.entries()) {
        const [question, answer] = rows.slice(2 * index, 2 * index + 2);
        const stored = JSON.stringify([question?.message_id, answer?.message_id, answer?.message]);
        const answers = [...(told.get(text) ?? [])];
        if (answers.length !== 1 || answers[0] !== stored)
          problems.push(`all are told the stored answer: ${answers} to ${text}, stored is ${stored}`);
      }
      return [
        ...problems,
        ...eventsOf(
          session,
          rows.map(({ message_id }) => message_id),
          events,
        ),
      ];
    },
  };
}

const endOf = (text: string): AnswerBody | undefined => {
  const blocks = text.split('\n\n').filter((block) => block.startsWith('data: '));
  const last = blocks.map((block) => JSON.parse(block.slice('data: '.length)) as { type: string }).at(-1);
  return last?.type === 'end' ? (last as unknown as AnswerBody) : undefined;
};

/** One for the session, one for each row. */
function eventsOf(
  session: SessionCreated,
  rows: readonly number[],
  events: readonly MetricRecord[],
): string[] {
  const own = events.filter(
    ({ source, data }) => source === 'atrium' && data['chat_session_id'] === session.chat_session_id,
  );
  const found = own.map(({ type, data }) => `${type} ${data['message_id'] ?? ''}`).toSorted();
  const expected = [
    'chat.create ',
    ...rows.map((id, index) => `messages.${index % 2 === 0 ? 'user.new' : 'rag.persona.new'} ${id}`),
  ].toSorted();
  return Bun.deepEquals(found, expected)
    ? []
    : [`a conversation has one set of events: ${found}, not ${expected}`];
}
