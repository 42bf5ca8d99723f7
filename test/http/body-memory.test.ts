// Memory of bodies: bounded for all requests together, and given back by each.

import { expect, test } from 'bun:test';
import { createBodyMemory } from '../../src/http/body.ts';
import { BODY_GIVES_WAY_MS } from '../../src/http/limits.ts';

const request = (): Request => new Request('http://localhost/');

test('bodies take as much as there is, and no more', () => {
  const memory = createBodyMemory(100);
  const [first, second] = [request(), request()];
  memory.hold(first, 60);
  memory.hold(second, 40);
  expect(() => memory.hold(second, 1)).toThrow('too much memory');
  expect(memory.heldBytes()).toBe(100);
  memory.release(first);
  memory.hold(second, 60);
  expect(memory.heldBytes()).toBe(100);
});

test('what a request held is given back once, whatever it held and however often it is released', () => {
  const memory = createBodyMemory(100);
  const only = request();
  memory.hold(only, 30);
  memory.hold(only, 30);
  memory.release(only);
  memory.release(only);
  memory.release(request());
  expect(memory.heldBytes()).toBe(0);
});

test('where there is no room, the body that has been arriving for longest gives way, once it has had its time', () => {
  let nowMs = 0;
  const memory = createBodyMemory(100, () => nowMs);
  const gone: string[] = [];
  const arrive = (name: string, bytes: number): Request => {
    const made = request();
    memory.arrives(made, () => void gone.push(name));
    memory.hold(made, bytes);
    return made;
  };
  arrive('first', 40);
  nowMs = 1000;
  const second = arrive('second', 40);
  const whole = request();
  memory.hold(whole, 20);
  nowMs = BODY_GIVES_WAY_MS - 1;
  expect(() => memory.hold(request(), 10)).toThrow('too much memory');
  nowMs = BODY_GIVES_WAY_MS;
  const third = arrive('third', 40);
  expect(gone).toEqual(['first']);
  expect(memory.heldBytes()).toBe(100);
  // The next one is younger than its time, and one that is whole stays.
  expect(() => memory.hold(third, 10)).toThrow('too much memory');
  nowMs += 10 * BODY_GIVES_WAY_MS;
  expect(() => memory.hold(second, 10)).toThrow('too much memory');
  memory.arrived(second);
  expect(() => memory.hold(third, 10)).toThrow('too much memory');
  expect(gone).toEqual(['first']);
});
