// Waits end with their time, their condition, their promise, a wake or a signal, whichever comes first.

import { expect, test } from 'bun:test';
import { abortable, createPause, endsWithin, sleep, until, within } from '../../src/core/wait.ts';

const LONG_MS = 60_000;
const never = new Promise<never>(() => undefined);

test('a sleep ends when its signal aborts, and leaves no listener behind', async () => {
  const controller = new AbortController();
  const sleeping = sleep(LONG_MS, controller.signal);
  controller.abort();
  await sleeping;
  await sleep(LONG_MS, controller.signal);
  await sleep(1);
});

test('within gives the outcome, the rejection, or what comes of being late', async () => {
  expect(await within(Promise.resolve('done'), LONG_MS, () => 'late')).toBe('done');
  expect(await within(never, 1, () => 'late')).toBe('late');
  await expect(within(Promise.reject(new Error('failed')), LONG_MS, () => 'late')).rejects.toThrow('failed');
  await expect(
    within(never, 1, () => {
      throw new Error('late');
    }),
  ).rejects.toThrow('late');
});

test('abortable gives the outcome, or the reason of its signal at once, and leaves no listener behind', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const listeners = new Set<unknown>();
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...given: unknown[]) => {
    listeners.add(given[1]);
    return Reflect.apply(addEventListener, signal, given);
  };
  signal.removeEventListener = (...given: unknown[]) => {
    listeners.delete(given[1]);
    return Reflect.apply(removeEventListener, signal, given);
  };
  expect(await abortable(Promise.resolve('done'), signal)).toBe('done');
  await expect(abortable(Promise.reject(new Error('failed')), signal)).rejects.toThrow('failed');
  const waiting = abortable(never, signal);
  expect(listeners.size).toBe(1);
  controller.abort(new Error('left'));
  await expect(waiting).rejects.toThrow('left');
  await expect(abortable(never, signal)).rejects.toThrow('left');
  expect(listeners.size).toBe(0);
});

test('endsWithin says whether the promise settled in time', async () => {
  expect(await endsWithin(Promise.resolve(), LONG_MS)).toBe(true);
  expect(await endsWithin(never, 1)).toBe(false);
});

test('until looks at its condition at once, again and again, and not for ever', async () => {
  let looks = 0;
  expect(await until(() => ++looks === 3, { everyMs: 1 })).toBe(true);
  expect(looks).toBe(3);
  expect(await until(async () => false, { everyMs: 1, timeoutMs: 5 })).toBe(false);
  expect(await until(() => true, { everyMs: LONG_MS, timeoutMs: 0 })).toBe(true);
});

test('a pause ends with a wake, also with one that came before it, and with its signal', async () => {
  const pause = createPause();
  const taking = pause.take(LONG_MS);
  pause.wake();
  await taking;
  pause.wake();
  await pause.take(LONG_MS);
  const controller = new AbortController();
  const stopped = pause.take(LONG_MS, controller.signal);
  controller.abort();
  await stopped;
  // The wake that ended a pause does not end the next one.
  expect(await endsWithin(pause.take(LONG_MS), 5)).toBe(false);
});
