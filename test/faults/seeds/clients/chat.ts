// A channel: it sends the messages of its conversation one after the other, each again until it is answered, sometimes twice at
// once. In the end each message is one question, one answer and one set of events, in the order in which they were sent.

import { type AnswerBody, createChatClient, type SessionCreated } from '../../../support/chat-client.ts';
import type { Client, Desk } from '../client.ts';
import { checkConversation, patiently } from './conversation.ts';

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
  const answers = new Map<string, Set<string>>();
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
    answers.get(text)?.add(JSON.stringify([body.user_message_id, body.message_id, body.answer]));
    return true;
  };
  const advance = async (): Promise<void> => {
    if (!(await open())) return;
    const text = current ?? `message ${answers.size} of ${name}`;
    current = text;
    if (!answers.has(text)) answers.set(text, new Set());
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
      const isAnswered = await patiently(() => current === undefined, advance);
      if (!isAnswered) desk.violate('a message is answered in the end', `${current}`);
    },
    keep() {
      const kept = {
        session,
        current,
        answers: [...answers].map(([text, given]) => [text, new Set(given)] as const),
      };
      return () => {
        ({ session, current } = kept);
        answers.clear();
        for (const [text, given] of kept.answers) answers.set(text, given);
      };
    },
    async check({ events }) {
      if (session === undefined) return [];
      return checkConversation({
        chatSessionId: session.chat_session_id,
        rows: await chat.transcript(session.chat_session_id),
        answers,
        answerOf: (question, answer) =>
          JSON.stringify([question?.message_id, answer?.message_id, answer?.message]),
        events,
      });
    },
  };
}

const endOf = (text: string): AnswerBody | undefined => {
  const blocks = text.split('\n\n').filter((block) => block.startsWith('data: '));
  const last = blocks.map((block) => JSON.parse(block.slice('data: '.length)) as { type: string }).at(-1);
  return last?.type === 'end' ? (last as unknown as AnswerBody) : undefined;
};
