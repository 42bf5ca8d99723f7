// What a route does not state follows from what it states, and a route that is not safe ends the start.

import { expect, test } from 'bun:test';
import { Type } from '@sinclair/typebox';
import { Elysia, status } from 'elysia';
import type { Routes } from '../../src/http/area.ts';
import type { Http } from '../../src/http/http.ts';
import { answer, json, parameters } from '../../src/http/input.ts';
import { serveRoutes } from '../support/serve-routes.ts';

const GOOD = answer({ description: 'Good.' });

const serve = (area: Routes, open: readonly string[] = []) => serveRoutes([area], { open });

const statusesOf = (area: Routes, open: readonly string[] = []): string =>
  Object.keys(serve(area, open).http.operations()[0]?.responses ?? {}).join(' ');

test('the refusals of a route follow from its key, its scope, its parameters and its body', () => {
  const query = parameters(Type.Object({ n: Type.Integer() }));
  const body = json(Type.Object({ n: Type.Integer() }));
  const response = { 200: GOOD };
  const key = { in: 'svc-key' } as const;
  const of =
    (options: object): Routes =>
    (http) =>
      new Elysia().use(http.plugin).post('/a', () => ({}), { response, ...options });
  expect(statusesOf(of({}), ['POST /a'])).toBe('200');
  expect(statusesOf(of({ query }), ['POST /a'])).toBe('200 422');
  expect(statusesOf(of({ key }))).toBe('200 401 503');
  expect(statusesOf(of({ key: { ...key, scope: 'chat' }, response: { ...response, 404: GOOD } }))).toBe(
    '200 401 403 404 503',
  );
  expect(statusesOf(of({ key, body }))).toBe('200 401 408 413 415 422 503');
  expect(statusesOf(of({ key, query, errors: 'openai' }))).toBe('200');
});

test('a route that names no key and is not among the open ones is refused', () => {
  const area = ({ plugin }: Http) => new Elysia().use(plugin).get('/a', () => 'a');
  expect(() => serve(area)).toThrow('GET /a names no key');
  expect(() => serve(area, ['POST /a'])).toThrow('GET /a names no key');
  expect(() => serve(area, ['GET /a'])).not.toThrow();
});

test('a route whose schema Elysia would check by its own rules is refused', () => {
  const query = Type.Object({ n: Type.Integer() });
  const area = ({ plugin }: Http) => new Elysia().use(plugin).get('/a', () => 'a', { query });
  expect(() => serve(area, ['GET /a'])).toThrow('http/input.ts');
});

test.each([
  ['a value', () => ({ a: 1 }), 200, '{"a":1}'],
  ['a promise of a value', async () => [1], 200, '[1]'],
  ['a status with a value', () => status(201, { a: 1 }), 201, '{"a":1}'],
  ['a status without one', () => status(204), 204, ''],
  ['a response', () => new Response('a', { status: 202 }), 202, 'a'],
])('a handler may return %s', async (_kind, handler, expected, body) => {
  const { fetch } = serve(({ plugin }) => new Elysia().use(plugin).get('/a', handler), ['GET /a']);
  const response = await fetch(new Request('http://localhost/a'));
  expect(response.status).toBe(expected);
  expect(await response.text()).toBe(body);
});
