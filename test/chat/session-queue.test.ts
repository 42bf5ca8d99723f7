// What another process has answered meanwhile is what counts, in memory as well.

import { expect, test } from 'bun:test';
import { createMemory } from '../../src/chat/memory.ts';
import { createCounts } from '../../src/chat/metrics.ts';
import { createSessionQueue } from '../../src/chat/session-queue.ts';
import type { Finished } from '../../src/chat/store/turns.ts';
import type { Turn } from '../../src/chat/turn.ts';
import { silentLog } from '../support/database.ts';
import { TURN } from './turn.ts';

const WINDOW = { messagesMax: 10, tokensMax: 1000 };
const NEXT: Turn = { ...TURN, parentId: TURN.answerId, userMessageId: 3, answerId: 4, message: 'next' };

const answered = (message: string) => ({
  message,
  citations: [],
  agentId: 'x',
  kind: 'persona' as const,
  model: 'm',
  finishReason: 'stop',
  promptTokens: 1,
  completionTokens: 1,
});

/** What the next question is told of the one before, where storing its answer ended so; the store is a fake. */
async function recalledAfter(finish: () => Promise<Finished>) {
  const memory = createMemory({ history: async () => [{ role: 'assistant', message: 'the stored answer' }] });
  const line = createSessionQueue({
    store: {
      over: async () => [],
      finish,
      answer: async () => ({
        state: 'done',
        answered: { ...TURN, ...answered('the stored answer'), createdAt: new Date(0) },
      }),
    },
    generate: async (turn) => {
      memory.remember(turn, { window: WINDOW, earlier: [], answer: 'the answer of this process' });
      return answered('the answer of this process');
    },
    memory,
    lease: { covers: () => true },
    counts: createCounts(),
    wakeMover: () => undefined,
    log: silentLog,
  });
  const outcome = await line.enter(TURN, { isFirst: true, takenAt: 0 }).outcome.catch(() => undefined);
  await line.close(1000);
  const said = await memory.before(NEXT, WINDOW);
  return { answer: outcome?.message, recalled: said.map(({ message }) => message) };
}

test('an answer that another process has stored before is told and remembered, not the one that was made here', async () => {
  expect(await recalledAfter(async () => ({ outcome: 'superseded' }))).toEqual({
    answer: 'the stored answer',
    recalled: ['the stored answer'],
  });
});

test('an answer that could not be stored is not remembered', async () => {
  const { recalled } = await recalledAfter(() => Promise.reject(new Error('the fake store is broken')));
  expect(recalled).toEqual(['the stored answer']);
});

test('an answer that was stored is remembered without being read again', async () => {
  const stored: Finished = {
    outcome: 'stored' as const,
    nextId: null,
    historyVersion: 0,
    createdAt: new Date(0),
  };
  expect(await recalledAfter(async () => stored)).toEqual({
    answer: 'the answer of this process',
    recalled: ['question', 'the answer of this process'],
  });
});
