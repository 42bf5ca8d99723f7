// Every request is answered once, whatever fails on its way, and nothing of it is left behind.

import { expect, test } from 'bun:test';
import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { createInterruption } from '../../src/core/interruption.ts';
import type { Routes } from '../../src/http/area.ts';
import { bodyMemory } from '../../src/http/body.ts';
import { json } from '../../src/http/input.ts';
import { serveRoutes } from '../support/serve-routes.ts';

const ignore = (): void => undefined;
const LOG = { debug: ignore, info: ignore, warn: ignore, error: ignore };
const broken = (): never => {
  throw new Error('the log cannot be written');
};

function serving(handle: () => unknown, deps: { log?: Partial<typeof LOG>; access?: () => void }) {
  const { onInterrupt, interrupt } = createInterruption();
  const { http, fetch } = serveRoutes([routeOf(handle)], {
    onInterrupt,
    log: { ...LOG, ...deps.log },
    access: deps.access ?? ignore,
  });
  return { http, fetch, interrupt };
}

const routeOf =
  (handle: () => unknown): Routes =>
  ({ plugin }) =>
    new Elysia().use(plugin).post('/', () => handle() as object, { body: json(Type.Object({})) });

const ask = (): Request =>
  new Request('http://localhost/', {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json', 'content-length': '2', 'x-request-id': 'its-own' },
  });

test.each([
  ['its failure cannot be logged', { log: { error: broken } }, () => Promise.reject(new Error('a defect'))],
  ['it cannot be written to the access log', { access: broken }, () => ({})],
])('a request is answered 500 where %s, and nothing of it is left', async (_reason, deps, handle) => {
  const { http, fetch } = serving(handle, deps);
  // Tests of readers hold bodies that no boundary releases.
  const heldBefore = bodyMemory.heldBytes();
  const response = await fetch(ask());
  expect(response.status).toBe(500);
  expect(response.headers.get('x-request-id')).toBe('its-own');
  expect(await response.json()).toEqual({ detail: 'Internal Server Error' });
  expect(http.running()).toBe(0);
  expect(bodyMemory.heldBytes()).toBe(heldBefore);
});

test('what fails after the end of a shutdown has answered its request is not logged as a defect', async () => {
  const logged: unknown[] = [];
  const begun = Promise.withResolvers<void>();
  const work = Promise.withResolvers<never>();
  const handle = () => {
    begun.resolve();
    return work.promise;
  };
  const log = { error: (...given: unknown[]) => void logged.push(given) };
  const { http, fetch, interrupt } = serving(handle, { log });
  const answered = fetch(ask());
  await begun.promise;
  interrupt();
  expect((await answered).status).toBe(503);
  work.reject(new Error('the connection was closed'));
  await Bun.sleep(1);
  expect(logged).toEqual([]);
  expect(http.running()).toBe(0);
});
