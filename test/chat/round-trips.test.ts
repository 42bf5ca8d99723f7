// A message makes three round trips to the database, four with a history, and five where its agent is not cached.

import { expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { startSetting } from './setting.ts';

const KINDS = {
  find: 'q.request_key',
  accept: 'questions AS',
  agent: 'array_position',
  history: 'RECURSIVE',
  finish: 'finished AS',
};

/** What its process does beside, for all messages together. */
const BACKGROUND = /chat_processes|DISTINCT ON|"isFirst"\s+FROM chat_messages m WHERE m.id = ANY/;

test('find, accept and finish; the history where there is one, the agent where it is not cached', async () => {
  await using setting = await startSetting();
  const statements: string[] = [];
  const onStatement = (text: string): void => {
    if (BACKGROUND.test(text)) return;
    const kind = Object.entries(KINDS).find(([, part]) => text.includes(part))?.[0] ?? text;
    if (statements.at(-1) !== kind) statements.push(kind);
  };
  const made = (): string[] => statements.splice(0);
  const other = await setting.start();
  const chat = await setting.start({ onStatement });
  const { name } = await chat.newSession();
  await chat.ask(name, 'warm up');
  // Another process makes the agent: once this one knows of it, no news of it is on its way any more.
  await other.putAgent('default', { name: 'D', kind: 'persona', instructions: 'Be brief.', default: true });
  await eventually('news of the agent', async () => {
    await chat.ask(name, 'again');
    return chat.model.calls.at(-1)?.messages[0]?.content === 'Be brief.';
  });
  made();
  await chat.ask(name, 'as ever');
  expect(made()).toEqual(['find', 'accept', 'history', 'finish']);
  const unseen = await chat.newSession({ agi_id: 'unseen' });
  made();
  await chat.ask(unseen.name, 'another agent');
  expect(made()).toEqual(['find', 'accept', 'agent', 'finish']);
});
