// A message makes two round trips to the database, and at most four.

import { expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { startSetting } from './setting.ts';

const KINDS = {
  accept: 'chat_accept',
  agent: 'FROM chat_agent(',
  history: 'bytes_after',
  finish: 'chat_finish',
};

/** What its process does beside, for all messages together. */
const BACKGROUND = /chat_processes|DISTINCT ON|watched \(id/;

test('accept and finish; the agent where it is not cached, the conversation where it is not remembered', async () => {
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
  await other.ask(name, 'elsewhere');
  await chat.ask(name, 'after another process');
  expect(made()).toEqual(['accept', 'history', 'finish']);
  await chat.ask(name, 'as ever');
  expect(made()).toEqual(['accept', 'finish']);
  const unseen = await chat.newSession({ agi_id: 'unseen' });
  made();
  await chat.ask(unseen.name, 'another agent');
  expect(made()).toEqual(['accept', 'agent', 'finish']);
});
