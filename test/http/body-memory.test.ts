// Memory of bodies: bounded for all requests together, and given back by each.

import { expect, test } from 'bun:test';
import { createBodyMemory } from '../../src/http/body-memory.ts';

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
