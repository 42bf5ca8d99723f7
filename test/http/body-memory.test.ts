// Memory of bodies: bounded for all requests together, and given back by each.

import { afterEach, expect, jest, spyOn, test } from 'bun:test';
import { BodyMemory } from '../../src/http/body.ts';
import { BODY_GIVES_WAY_MS } from '../../src/http/limits.ts';

afterEach(() => jest.restoreAllMocks());

const request = () => ({ bodyBytes: 0 });

test('bodies take as much as there is, and no more', () => {
  const memory = new BodyMemory(100);
  const [first, second] = [request(), request()];
  memory.hold(first, 60);
  memory.hold(second, 40);
  expect(() => memory.hold(second, 1)).toThrow('out of request memory');
  expect(memory.heldBytes).toBe(100);
  memory.release(first);
  memory.hold(second, 60);
  expect(memory.heldBytes).toBe(100);
});

test('what a request held is given back once, whatever it held and however often it is released', () => {
  const memory = new BodyMemory(100);
  const only = request();
  memory.hold(only, 30);
  memory.hold(only, 30);
  memory.release(only);
  memory.release(only);
  memory.release(request());
  expect(memory.heldBytes).toBe(0);
});

test('where there is no room, the body that has been arriving for longest gives way, once it has had its time', () => {
  let nowMs = 0;
  spyOn(performance, 'now').mockImplementation(() => nowMs);
  const memory = new BodyMemory(100);
  const gone: string[] = [];
  const arrive = (name: string, bytes: number) => {
    const holder = request();
    const arrival = memory.begin(holder, () => void gone.push(name));
    memory.hold(holder, bytes);
    return { holder, arrival };
  };
  arrive('first', 40);
  nowMs = 1000;
  const second = arrive('second', 40);
  memory.hold(request(), 20);
  nowMs = BODY_GIVES_WAY_MS - 1;
  expect(() => memory.hold(request(), 10)).toThrow('out of request memory');
  nowMs = BODY_GIVES_WAY_MS;
  const third = arrive('third', 40);
  expect(gone).toEqual(['first']);
  expect(memory.heldBytes).toBe(100);
  // The next one is younger than its time, and one that is whole stays.
  expect(() => memory.hold(third.holder, 10)).toThrow('out of request memory');
  nowMs += 10 * BODY_GIVES_WAY_MS;
  expect(() => memory.hold(second.holder, 10)).toThrow('out of request memory');
  memory.end(second.arrival);
  expect(() => memory.hold(third.holder, 10)).toThrow('out of request memory');
  expect(gone).toEqual(['first']);
  memory.end(third.arrival);
});
