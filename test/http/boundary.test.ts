// Every request is answered once, whatever fails on its way, and nothing of it is left behind.

import { expect, test } from 'bun:test';
import { Type } from '@sinclair/typebox';
import { createInterruption } from '../../src/core/interruption.ts';
import { bodyMemory } from '../../src/http/body.ts';
import { createBoundary } from '../../src/http/boundary.ts';
import { createCors } from '../../src/http/cors.ts';
import { createRequestMetrics } from '../../src/http/metrics.ts';
import { route } from '../../src/http/operation.ts';

const ignore = (): void => undefined;
const LOG = { debug: ignore, info: ignore, warn: ignore, error: ignore };
const broken = (): never => {
  throw new Error('the log cannot be written');
};

function boundaryWith(deps: { log?: Partial<typeof LOG>; access?: () => void }) {
  const { onInterrupt, interrupt } = createInterruption();
  const boundary = createBoundary({
    cors: createCors([]),
    requestMetrics: createRequestMetrics(),
    onInterrupt,
    authenticators: { key: () => undefined, session: () => Promise.resolve(undefined) },
    explainFailure: () => undefined,
    log: { ...LOG, ...deps.log },
    access: deps.access ?? ignore,
  });
  return { boundary, interrupt };
}

const routeOf = (handle: () => unknown) =>
  route(
    {
      id: 'test.boundary',
      method: 'POST',
      path: '/',
      area: 'test',
      summary: 'A test',
      credential: 'none',
      body: Type.Object({}),
      responses: { 200: { description: 'Good.' } },
    },
    handle,
  );

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
  const { boundary } = boundaryWith(deps);
  // Tests of readers hold bodies that no boundary releases.
  const heldBefore = bodyMemory.heldBytes();
  const response = await boundary.guard(routeOf(handle))(ask());
  expect(response.status).toBe(500);
  expect(response.headers.get('x-request-id')).toBe('its-own');
  expect(await response.json()).toEqual({ detail: 'Internal Server Error' });
  expect(boundary.running()).toBe(0);
  expect(bodyMemory.heldBytes()).toBe(heldBefore);
});

test('what fails after the end of a shutdown has answered its request is not logged as a defect', async () => {
  const logged: unknown[] = [];
  const { boundary, interrupt } = boundaryWith({ log: { error: (...given) => void logged.push(given) } });
  const begun = Promise.withResolvers<void>();
  const work = Promise.withResolvers<never>();
  const answered = boundary.guard(
    routeOf(() => {
      begun.resolve();
      return work.promise;
    }),
  )(ask());
  await begun.promise;
  interrupt();
  expect((await answered).status).toBe(503);
  work.reject(new Error('the connection was closed'));
  await Bun.sleep(1);
  expect(logged).toEqual([]);
  expect(boundary.running()).toBe(0);
});
