// A conversation as it has to be in the end, whichever door its messages came through.

import type { MetricRecord } from '../../../acceptance/support/metrics.ts';
import type { MessageRow } from '../../../support/chat-client.ts';

export type Conversation = {
  chatSessionId: number;
  rows: readonly MessageRow[];
  /** Every answer that was given to each question, in the order in which the questions were first asked. */
  answers: ReadonlyMap<string, ReadonlySet<string>>;
  /** The one answer that a stored question and answer allow. */
  answerOf(question: MessageRow | undefined, answer: MessageRow | undefined): string;
  events: readonly MetricRecord[];
};

/** Each message is one question with one answer and one set of events, in one branch; each client got the stored answer. */
export function checkConversation({
  chatSessionId,
  rows,
  answers,
  answerOf,
  events,
}: Conversation): string[] {
  const questions = rows.filter(({ role }) => role === 'user').map(({ message }) => message);
  const expected = [...answers.keys()];
  const problems = [];
  if (!Bun.deepEquals(questions, expected))
    problems.push(`questions are stored once and in order: ${questions}, not ${expected}`);
  if (rows.length !== 2 * expected.length)
    problems.push(`each question has one answer: ${rows.length} rows for ${expected.length} questions`);
  const ids = rows.map(({ message_id: id }) => id);
  const parents = rows.slice(1).map(({ parent_message_id: parent }) => parent);
  if (!Bun.deepEquals(parents, ids.slice(0, -1))) problems.push('a conversation is one branch');
  for (const [index, text] of expected.entries()) {
    const [question, answer] = rows.slice(2 * index, 2 * index + 2);
    const stored = answerOf(question, answer);
    const given = [...(answers.get(text) ?? [])];
    if (given.length !== 1 || given[0] !== stored)
      problems.push(`every client gets the stored answer: ${given} to ${text}, stored is ${stored}`);
  }
  return [...problems, ...checkEvents(chatSessionId, ids, events)];
}

/** One for the session, one for each row. */
function checkEvents(
  chatSessionId: number,
  rows: readonly number[],
  events: readonly MetricRecord[],
): string[] {
  const found = events
    .filter(({ source, data }) => source === 'atrium' && data['chat_session_id'] === chatSessionId)
    .map(({ type, data }) => `${type} ${data['message_id'] ?? ''}`)
    .toSorted();
  const expected = [
    'chat.create ',
    ...rows.map((id, index) => `messages.${index % 2 === 0 ? 'user.new' : 'rag.persona.new'} ${id}`),
  ].toSorted();
  return Bun.deepEquals(found, expected)
    ? []
    : [`a conversation has one set of events: ${found}, not ${expected}`];
}

const ATTEMPTS_MAX = 40;
const PAUSE_MS = 250;

/** Calls it until it is true. */
export async function patiently(isDone: () => boolean, advance: () => Promise<void>): Promise<boolean> {
  for (let attempt = 0; !isDone() && attempt < ATTEMPTS_MAX; attempt++) {
    await advance();
    if (!isDone()) await Bun.sleep(PAUSE_MS);
  }
  return isDone();
}
