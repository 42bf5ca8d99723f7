// Requests to a worker thread: each is answered once, in time or not at all, whatever happens to the thread.

import { afterEach, expect, test } from 'bun:test';
import { createThread, ThreadEnded, ThreadOverdue } from '../../src/core/thread.ts';
import { eventually } from '../support/child.ts';
import type { Asked } from './support/thread.ts';

const ENOUGH_MS = 20_000;
const threads: { thread: ReturnType<typeof createThread<Asked, string>>; openGate: () => void }[] = [];
afterEach(() => {
  for (const { thread, openGate } of threads.splice(0)) {
    openGate();
    thread.end();
  }
});

/** The answer to `double` as soon as the thread gives one. */
const answerOf = (thread: ReturnType<typeof createThread<Asked, string>>, value: number): Promise<number> =>
  eventually('an answer', () => thread.ask('double', value, ENOUGH_MS).catch(() => undefined));

/** Only the first of its threads opens late: when the gate is opened, at which calls hang, too. */
function start({ opensLate = false, openMsMax = ENOUGH_MS } = {}) {
  const seen = { ends: 0 };
  const shared = new SharedArrayBuffer(8);
  const openGate = (): void => {
    Atomics.store(new Int32Array(shared), 1, 1);
    Atomics.notify(new Int32Array(shared), 1);
  };
  const thread = createThread<Asked, string>({
    entry: new URL('./support/thread.ts', import.meta.url),
    settings: { opensLate, shared },
    openMsMax,
    onEnd: () => {
      seen.ends += 1;
    },
  });
  threads.push({ thread, openGate });
  return { thread, seen, openGate };
}

test('requests are answered each with its own result, in any order', async () => {
  const { thread, seen } = start();
  expect(await thread.open()).toBe('open');
  const slow = thread.ask('sleep', 50, ENOUGH_MS);
  expect(await Promise.all([1, 2, 3].map((value) => thread.ask('double', value, ENOUGH_MS)))).toEqual([
    2, 4, 6,
  ]);
  expect(await slow).toBe('slept 50');
  expect(seen).toEqual({ ends: 0 });
});

test('an error of a call comes with its message and its code', async () => {
  const { thread } = start();
  await expect(thread.ask('fail', 'EIO', ENOUGH_MS)).rejects.toMatchObject({
    message: 'refused',
    code: 'EIO',
  });
  expect(await thread.ask('double', 2, ENOUGH_MS)).toBe(4);
});

test('a thread that does not answer in time is sent nothing more until it does', async () => {
  const { thread, seen, openGate } = start();
  await thread.open();
  const late = thread.ask('hang', 100).catch((error: unknown) => error);
  expect(await late).toMatchObject({ code: 'THREAD_OVERDUE' });
  const refused: unknown = await thread.ask('double', 1, ENOUGH_MS).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ThreadOverdue);
  openGate();
  expect(await answerOf(thread, 4)).toBe(8);
  expect(seen).toEqual({ ends: 0 });
});

test('a thread that ends by itself fails what is under way, and the next request starts another one', async () => {
  const { thread, seen } = start();
  await thread.open();
  const underWay = thread.ask('sleep', 60_000, ENOUGH_MS);
  const died = thread.ask('die', ENOUGH_MS);
  const [first, second] = await Promise.allSettled([underWay, died]);
  expect([first?.status, second?.status]).toEqual(['rejected', 'rejected']);
  expect(seen.ends).toBe(1);
  expect(await thread.ask('double', 5, ENOUGH_MS)).toBe(10);
});

test('one that opens too late answers from then on', async () => {
  const { thread, openGate } = start({ opensLate: true, openMsMax: 2000 });
  await expect(thread.open()).rejects.toBeInstanceOf(ThreadOverdue);
  await expect(thread.ask('double', 1, ENOUGH_MS)).rejects.toBeInstanceOf(ThreadOverdue);
  openGate();
  expect(await answerOf(thread, 2)).toBe(4);
});

test('a thread that is replaced fails what is under way, and the next request starts another one', async () => {
  const { thread, seen } = start();
  await thread.open();
  const underWay = thread.ask('hang', ENOUGH_MS);
  thread.replace();
  await expect(underWay).rejects.toBeInstanceOf(ThreadEnded);
  expect(seen.ends).toBe(1);
  expect(await thread.ask('double', 5, ENOUGH_MS)).toBe(10);
  expect(seen.ends).toBe(1);
});

test('one that was ended answers nothing, and stays ended', async () => {
  const { thread, seen } = start();
  await thread.open();
  const underWay = thread.ask('sleep', 60_000, ENOUGH_MS);
  thread.end();
  await expect(underWay).rejects.toThrow('has ended');
  await expect(thread.ask('double', 1, ENOUGH_MS)).rejects.toThrow('has been ended');
  expect(seen.ends).toBe(0);
});
