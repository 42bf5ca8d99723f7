import { expect, mock, test } from 'bun:test';
import { Cancellation } from '../../src/core/cancellation.ts';

test('an abort calls each listener once, with the first reason, and none that was removed', () => {
  const signal = new Cancellation();
  const stays = mock(() => undefined);
  const removed = mock(() => undefined);
  signal.addEventListener('abort', stays);
  signal.addEventListener('abort', removed);
  signal.removeEventListener('abort', removed);
  signal.throwIfAborted();
  signal.abort('first');
  signal.abort('second');
  expect([stays.mock.calls.length, removed.mock.calls.length]).toEqual([1, 0]);
  expect([signal.aborted, signal.reason]).toEqual([true, 'first']);
  expect(() => signal.throwIfAborted()).toThrow('first');
});

test('a listener that throws keeps no other one from hearing; the first error is thrown when all have been called', () => {
  const leader = new Cancellation();
  const follower = new Cancellation();
  const fails = (message: string) => () => {
    throw new Error(message);
  };
  const hears = mock(() => undefined);
  follower.follow(leader);
  follower.addEventListener('abort', fails('first'));
  follower.addEventListener('abort', hears);
  leader.addEventListener('abort', fails('second'));
  leader.addEventListener('abort', hears);
  expect(() => leader.abort('left')).toThrow('first');
  expect([leader.reason, follower.reason, hears.mock.calls.length]).toEqual(['left', 'left', 2]);
});

test('one that follows a signal aborts with its reason, also where that has aborted before, until it follows no more', () => {
  const leader = new AbortController();
  const follower = new Cancellation();
  const free = new Cancellation();
  follower.follow(leader.signal);
  free.follow(leader.signal)();
  leader.abort('left');
  const late = new Cancellation();
  late.follow(leader.signal);
  expect([follower.reason, free.aborted, late.reason]).toEqual(['left', false, 'left']);
});
