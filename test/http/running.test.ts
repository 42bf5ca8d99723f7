// Every request is answered once, whatever fails on its way, and nothing of it is left behind.

import { expect, test } from 'bun:test';
import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { listen } from '../../src/app.ts';
import { notFound, unavailable } from '../../src/core/errors.ts';
import type { Principal } from '../../src/core/principal.ts';
import type { Routes } from '../../src/http/area.ts';
import { bodyMemory } from '../../src/http/body.ts';
import { ELYSIA_OPTIONS } from '../../src/http/http.ts';
import { answer, json } from '../../src/http/input.ts';
import { sendRaw } from '../acceptance/support/raw-request.ts';
import { serveRoutes } from '../support/serve-routes.ts';

const ignore = (): void => undefined;
const LOG = { debug: ignore, info: ignore, warn: ignore, error: ignore };
const broken = (): never => {
  throw new Error('the log cannot be written');
};

function serving(handle: () => unknown, deps: { log?: Partial<typeof LOG>; access?: () => void }) {
  const shutdown = new AbortController();
  const { http, fetch } = serveRoutes([routeOf(handle)], {
    shutdown: shutdown.signal,
    log: { ...LOG, ...deps.log },
    open: ['POST /'],
    access: deps.access ?? ignore,
  });
  return { http, fetch, shutdown };
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
  const heldBefore = bodyMemory.heldBytes;
  const response = await fetch(ask());
  expect(response.status).toBe(500);
  expect(response.headers.get('x-request-id')).toBe('its-own');
  expect(await response.json()).toEqual({ detail: 'Internal Server Error' });
  expect(http.running()).toBe(0);
  expect(bodyMemory.heldBytes).toBe(heldBefore);
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
  const { http, fetch, shutdown } = serving(handle, { log });
  const answered = fetch(ask());
  await begun.promise;
  shutdown.abort(unavailable('The service is shutting down'));
  expect((await answered).status).toBe(503);
  work.reject(new Error('the connection was closed'));
  await Bun.sleep(1);
  expect(logged).toEqual([]);
  expect(http.running()).toBe(0);
});

const KEY = { in: 'key' } as const;
const caller: Principal = {
  workspaceId: 'acme',
  keyId: '1',
  userId: 'u',
  email: 'a@acme.example',
  scopes: new Set(),
  limits: {},
};

/** The routes at a port of this machine. */
function listening(routes: Routes) {
  const { http, fetch } = serveRoutes([routes], {
    open: ['POST /', 'GET /stream'],
    options: ELYSIA_OPTIONS,
    authenticators: () => ({ key: () => caller, session: async () => undefined }),
  });
  const server = listen(fetch, { hostname: '127.0.0.1', port: 0 });
  return {
    http,
    url: `http://127.0.0.1:${server.port}`,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

test.each(['/../x', '/stream/.', '//stream', '*'])('HEAD %s without a Host is not found', async (target) => {
  await using served = listening(({ plugin }) =>
    new Elysia()
      .use(plugin)
      .get('/', () => ({}))
      .get('/stream', () => ({})),
  );
  const answer = await sendRaw(served.url, {
    head: [`HEAD ${target} HTTP/1.0`, 'content-length: 0'],
    host: null,
  });
  expect(answer).toMatch(/ 404 | 400 /);
});

test.each(['', 'a b', null])('a body that came with the Host %j takes no memory afterwards', async (host) => {
  await using served = listening(routeOf(() => ({})));
  const heldBefore = bodyMemory.heldBytes;
  const head = ['POST / HTTP/1.0', 'content-type: application/json', 'content-length: 2'];
  const answer = await sendRaw(served.url, { head, host, body: '{}' });
  expect(answer).toContain(' 200 OK');
  expect(bodyMemory.heldBytes).toBe(heldBefore);
});

test('HEAD has the headers of GET, and ends a stream that nobody is sent', async () => {
  const ended = Promise.withResolvers<void>();
  const endless = () =>
    new ReadableStream({
      pull: async (controller) => {
        await Bun.sleep(1);
        controller.enqueue(new Uint8Array(1000));
      },
      cancel: () => ended.resolve(),
    });
  await using served = listening(({ plugin }) =>
    new Elysia()
      .use(plugin)
      .get('/', () => ({ some: 'value' }))
      .get('/stream', () => new Response(endless(), { headers: { 'content-type': 'text/event-stream' } })),
  );
  const head = await fetch(served.url, { method: 'HEAD' });
  expect(head.status).toBe(200);
  expect(head.headers.get('content-length')).toBe('16');
  expect(head.headers.get('content-type')).toBe('application/json;charset=utf-8');
  const stream = await fetch(`${served.url}/stream`, { method: 'HEAD' });
  expect(stream.headers.get('content-type')).toBe('text/event-stream');
  await ended.promise;
  expect(served.http.running()).toBe(0);
});

test('a promise is waited for, however its handler is written', async () => {
  const later = async () => ({ some: 'value' });
  const [isChosen] = [true];
  const { fetch } = serveRoutes(
    [
      ({ plugin }) =>
        new Elysia()
          .use(plugin)
          .get('/', () => (isChosen ? later() : {}))
          .get('/described', () => (isChosen ? later() : {}), {
            response: { 200: answer({ description: '' }) },
          })
          .get('/refused', () => (isChosen ? Promise.reject(notFound('It is gone')) : {})),
    ],
    { open: ['GET /described', 'GET /refused'] },
  );
  const get = async (path: string) => (await fetch(new Request(`http://localhost${path}`))).json();
  expect(await get('/')).toEqual({ some: 'value' });
  expect(await get('/described')).toEqual({ some: 'value' });
  expect(await get('/refused')).toEqual({ detail: 'It is gone' });
});

test('what a request in progress asks of the service is answered after the shutdown has begun', async () => {
  const begun = Promise.withResolvers<void>();
  const goesOn = Promise.withResolvers<void>();
  const { http, fetch } = serveRoutes(
    [
      ({ plugin, call }) =>
        new Elysia()
          .use(plugin)
          .get('/inner', () => ({ some: 'value' }), { key: KEY, detail: { operationId: 'inner' } })
          .get(
            '/outer',
            async ({ principal }) => {
              begun.resolve();
              await goesOn.promise;
              return (await call('inner', { principal }, {})) as object;
            },
            { key: KEY },
          ),
    ],
    { authenticators: () => ({ key: () => caller, session: async () => undefined }) },
  );
  const get = (path: string) =>
    fetch(new Request(`http://localhost${path}`, { headers: { APIKeyHeader: 'k' } }));
  const outer = get('/outer');
  await begun.promise;
  http.refuseNewRequests();
  goesOn.resolve();
  expect(await (await outer).json()).toEqual({ some: 'value' });
  expect((await get('/inner')).status).toBe(503);
});
