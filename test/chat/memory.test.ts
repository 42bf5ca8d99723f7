// What was said is remembered as it would be read, within its bounds.

import { expect, test } from 'bun:test';
import { createMemory, type Window } from '../../src/chat/memory.ts';
import type { Said, Turn } from '../../src/chat/turn.ts';
import { TURN } from './turn.ts';

const WINDOW: Window = { messagesMax: 4, tokensMax: 25 };
const turnOf = (fields: Partial<Turn>): Turn => ({ ...TURN, ...fields });

/** A fake store that tells what it was asked. */
function fakeStore() {
  const reads: number[] = [];
  const history = async (parentId: number): Promise<Said[]> => {
    reads.push(parentId);
    return [{ role: 'user', message: `read ${parentId}` }];
  };
  return { reads, history };
}

const texts = (said: readonly Said[]): string[] => said.map(({ message }) => message);

test('a branch that goes on is not read again; its end alone is kept', async () => {
  const store = fakeStore();
  const memory = createMemory(store);
  let earlier: readonly Said[] = await memory.before(turnOf({}), WINDOW);
  expect(earlier).toEqual([]);
  for (let number = 1; number <= 5; number++) {
    const turn = turnOf({
      parentId: number === 1 ? null : number - 1,
      answerId: number,
      message: `q${number}`,
    });
    earlier = await memory.before(turn, WINDOW);
    memory.remember(turn, { window: WINDOW, earlier, answer: `a${number}` });
  }
  expect(texts(earlier)).toEqual(['q3', 'a3', 'q4', 'a4']);
  expect(store.reads).toEqual([]);
});

test('long messages push out those before them', async () => {
  const memory = createMemory(fakeStore());
  memory.remember(turnOf({ answerId: 2, message: 'q' }), {
    window: WINDOW,
    earlier: [{ role: 'user', message: 'ü'.repeat(30) }],
    answer: 'a'.repeat(60),
  });
  expect(texts(await memory.before(turnOf({ parentId: 2 }), WINDOW))).toEqual(['q', 'a'.repeat(60)]);
});

test('it is read again after a deletion, under another window, and when the answer was not stored', async () => {
  const store = fakeStore();
  const memory = createMemory(store);
  const remember = () =>
    memory.remember(turnOf({ answerId: 2 }), { window: WINDOW, earlier: [], answer: 'answer' });
  remember();
  expect(texts(await memory.before(turnOf({ parentId: 2, historyVersion: 1 }), WINDOW))).toEqual(['read 2']);
  remember();
  await memory.before(turnOf({ parentId: 2 }), { ...WINDOW, messagesMax: 2 });
  remember();
  memory.forget(2);
  await memory.before(turnOf({ parentId: 2 }), WINDOW);
  expect(store.reads).toEqual([2, 2, 2]);
});

test('only so much is remembered: what was not used for longest goes', async () => {
  const store = fakeStore();
  const memory = createMemory(store, { bytesMax: 5 * (500 + 2 * (100 + 2 * 20)) });
  for (let answerId = 1; answerId <= 20; answerId++)
    memory.remember(turnOf({ answerId, message: 'q'.repeat(20) }), {
      window: WINDOW,
      earlier: [],
      answer: 'a'.repeat(20),
    });
  for (let parentId = 1; parentId <= 20; parentId++) await memory.before(turnOf({ parentId }), WINDOW);
  expect(store.reads).toEqual(Array.from({ length: 15 }, (_, index) => index + 1));
});

test('what is short counts too: as many are kept as fit, and empty windows not at all', async () => {
  const store = fakeStore();
  const memory = createMemory(store, { bytesMax: 10_000 });
  const remember = (answerId: number, window: Window) =>
    memory.remember(turnOf({ answerId, message: 'a' }), { window, earlier: [], answer: 'b' });
  for (let answerId = 1; answerId <= 1000; answerId++) remember(answerId, WINDOW);
  await memory.before(turnOf({ parentId: 1000 }), WINDOW);
  expect(store.reads).toEqual([]);
  await memory.before(turnOf({ parentId: 1 }), WINDOW);
  expect(store.reads).toEqual([1]);
  remember(2000, { messagesMax: 0, tokensMax: 25 });
  await memory.before(turnOf({ parentId: 2000 }), WINDOW);
  expect(store.reads).toEqual([1, 2000]);
});

test('what was not used for ten minutes goes, also where nobody asks for it', async () => {
  const store = fakeStore();
  const clock = { ms: 1000 };
  const memory = createMemory(store, { now: () => clock.ms });
  const remember = (answerId: number) => {
    // Texts that are no longer held by anything else.
    const said = { role: 'user' as const, message: `message ${answerId}` };
    memory.remember(turnOf({ answerId, message: 'q' }), { window: WINDOW, earlier: [said], answer: 'a' });
    return new WeakRef(said);
  };
  const held = Array.from({ length: 100 }, (_, index) => remember(index + 1));
  clock.ms += 300_000;
  remember(200);
  clock.ms += 300_001;
  remember(201);
  await memory.before(turnOf({ parentId: 200 }), WINDOW);
  expect(store.reads).toEqual([]);
  await Bun.sleep(0);
  Bun.gc(true);
  // The collector is conservative: a few may still be on the stack.
  expect(held.filter((each) => each.deref() !== undefined).length).toBeLessThan(50);
  await memory.before(turnOf({ parentId: 1 }), WINDOW);
  expect(store.reads).toEqual([1]);
});
