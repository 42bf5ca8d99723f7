// What an operation does not state follows from what it states.

import { expect, test } from 'bun:test';
import { Type } from '@sinclair/typebox';
import { toResponse } from '../../src/http/boundary.ts';
import { type Route, route } from '../../src/http/operation.ts';

const STATED = { id: 'test.operation', path: '/test', area: 'test', summary: 'A test' } as const;
const GOOD = { 200: { description: 'Good.' } };

const statusesOf = ({ operation }: Route): string => Object.keys(operation.responses).join(' ');

test('the refusals of an operation follow from its credential, its scope, its parameters and its body', () => {
  const handle = () => ({});
  const spec = { ...STATED, method: 'POST', responses: GOOD } as const;
  const keyed = { ...spec, credential: 'svc-key' } as const;
  const query = Type.Object({ n: Type.Integer() });
  expect(statusesOf(route({ ...spec, credential: 'none' }, handle))).toBe('200');
  expect(statusesOf(route({ ...spec, credential: 'none', query }, handle))).toBe('200 422');
  expect(statusesOf(route(keyed, handle))).toBe('200 401 503');
  expect(statusesOf(route({ ...keyed, scope: 'chat', refusals: [404] }, handle))).toBe('200 401 403 404 503');
  expect(statusesOf(route({ ...keyed, body: query }, handle))).toBe('200 401 408 413 415 422 503');
  expect(statusesOf(route({ ...keyed, query, errorShape: 'openai' }, handle))).toBe('200');
});

test.each([
  ['a value', 201, { a: 1 }, '{"a":1}'],
  ['a promise of a value', 200, Promise.resolve([1]), '[1]'],
  ['nothing', 204, undefined, ''],
  ['a promise of nothing', 204, Promise.resolve(), ''],
])(
  'a handler may return %s, which is answered with the first status',
  async (_kind, status, result, body) => {
    const { handle, status: first } = route(
      { ...STATED, method: 'GET', credential: 'none', responses: { [status]: { description: 'Good.' } } },
      () => result,
    );
    const response = toResponse(await handle({} as never), first);
    expect(response.status).toBe(status);
    expect(await response.text()).toBe(body);
  },
);
