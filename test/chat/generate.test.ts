// An answer is made within its time, whatever the model does; a model's text is such as a database can hold.

import { heapStats } from 'bun:jsc';
import { expect, test } from 'bun:test';
import type { Agent } from '../../src/chat/agents.ts';
import { createGenerate } from '../../src/chat/generate.ts';
import { ANSWER_LENGTH_MAX } from '../../src/chat/limits.ts';
import type { StreamChat } from '../../src/gateway/chat-call.ts';
import type { Sql } from '../../src/infra/postgres/client.ts';
import { createFakeModel } from './fake-model.ts';
import { TURN } from './turn.ts';

const AGENT: Agent = {
  id: 'helper',
  kind: 'persona',
  model: null,
  instructions: '',
  temperature: null,
  history_messages: 20,
  history_tokens: 8000,
  knowledge: 'none',
  replies: [],
  knowledge_only: false,
  not_found_text: null,
};

const NEVER = new AbortController().signal;

function generateWith(
  streamChat: StreamChat,
  message: string,
  timeoutMs = 10_000,
  leaving = new AbortController(),
) {
  const generate = createGenerate({
    // The question is the first of its conversation: nothing is read.
    sql: undefined as unknown as Sql,
    agents: { find: () => AGENT, reset: () => undefined },
    knowledge: { find: async () => ({ passages: [], isWhole: true }) },
    streamChat,
    timeoutMs,
  });
  const said: string[] = [];
  const turn = { ...TURN, message, caller: { email: 'a@example.com', readsAs: null } };
  const made = generate(turn, (text) => said.push(text), { signal: leaving.signal, stop: NEVER });
  return { made, said, leave: (reason: Error) => leaving.abort(reason) };
}

test('a model that hangs is given up after the time, also one that pays no heed', async () => {
  for (const question of ['[hold]', '[deaf]']) {
    const model = createFakeModel();
    const { made } = generateWith(model.streamChat, question, 50);
    await expect(made).rejects.toMatchObject({
      kind: 'upstream-timeout',
      message: 'The model did not answer in time',
    });
    model.release();
  }
});

test('the reason to stop is what is thrown', async () => {
  const model = createFakeModel();
  const { made, leave } = generateWith(model.streamChat, '[deaf]');
  leave(new Error('the service ends'));
  await expect(made).rejects.toThrow('the service ends');
  model.release();
});

test('an answer leaves nothing behind: no signal, no timer, and no listener at the signal that outlives it', async () => {
  const TURNS = 300;
  const leaving = new AbortController();
  let listeners = 0;
  const { signal } = leaving;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...given: unknown[]) => {
    listeners += 1;
    return Reflect.apply(addEventListener, signal, given);
  };
  signal.removeEventListener = (...given: unknown[]) => {
    listeners -= 1;
    return Reflect.apply(removeEventListener, signal, given);
  };
  const model = createFakeModel();
  const alive = (): number => {
    Bun.gc(true);
    const counts = heapStats().objectTypeCounts;
    return (counts['AbortSignal'] ?? 0) + (counts['Timeout'] ?? 0);
  };
  await generateWith(model.streamChat, 'first', 600_000, leaving).made;
  const before = alive();
  for (let count = 0; count < TURNS; count++)
    await generateWith(
      model.streamChat,
      count % 2 === 0 ? 'x' : '[fail upstream-failed]',
      600_000,
      leaving,
    ).made.catch(() => undefined);
  model.calls.length = 0;
  expect(listeners).toBe(0);
  expect(alive() - before).toBeLessThan(TURNS / 10);
});

test('a model that does not come to an end is cut off, and its answer is none', async () => {
  let said = 0;
  let ended = false;
  const streamChat: StreamChat = async function* () {
    try {
      for (;;) {
        said += 1;
        yield { type: 'delta', text: 'x'.repeat(ANSWER_LENGTH_MAX / 8) };
      }
    } finally {
      ended = true;
    }
  };
  const { made } = generateWith(streamChat, 'x');
  await expect(made).rejects.toMatchObject({
    kind: 'upstream-failed',
    message: "The model's answer is too long",
  });
  expect([said, ended]).toEqual([9, true]);
});

test('NULs and halves of surrogate pairs do not reach the database, whole pairs in two deltas do', async () => {
  const smile = '😀';
  const texts = ['a\0b', smile.charAt(0), smile.charAt(1), '\ud800', 'c'];
  const streamChat: StreamChat = async function* () {
    for (const text of texts) yield { type: 'delta', text };
    const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 };
    yield { type: 'end', model: 'fake', finishReason: 'length', usage };
  };
  const { made, said } = generateWith(streamChat, 'x');
  const answer = await made;
  expect(answer.message).toBe(`ab${smile}\ufffdc`);
  expect([answer.model, answer.finishReason, answer.agentId]).toEqual(['fake', 'length', 'helper']);
  expect(said.join('')).toBe(`ab${smile}\ud800c`);
});
