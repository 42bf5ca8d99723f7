// What browsers of other origins may read, and that no cache hands an answer for one origin to another.

import { describe, expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { unavailable } from '../../src/core/errors.ts';
import { createCors } from '../../src/http/cors.ts';
import { serveRoutes } from '../support/serve-routes.ts';

const ALLOWED = 'https://app.example.com';
const FOREIGN = 'https://evil.example.com';

/** A service for these origins. */
function serving(origins: string[]) {
  const shutdown = new AbortController();
  const { http, fetch } = serveRoutes(
    [
      ({ plugin }) =>
        new Elysia()
          .use(plugin)
          .get('/', () => new Response(null, { headers: { vary: 'accept' } }))
          .get('/fails', () => {
            throw new Error('a defect');
          })
          .get('/waits', () => new Promise<object>(() => undefined)),
    ],
    { cors: createCors(origins), shutdown: shutdown.signal, open: ['GET /fails', 'GET /waits'] },
  );
  const ask = (path: string, origin: string | undefined, init: RequestInit = {}) =>
    fetch(
      new Request(`http://localhost${path}`, {
        ...init,
        headers: { ...init.headers, ...(origin === undefined ? {} : { origin }) },
      }),
    );
  return { ask, http, shutdown };
}

const marked = async (origins: string[], origin: string | undefined): Promise<Headers> =>
  (await serving(origins).ask('/', origin)).headers;

const PREFLIGHT = {
  'access-control-request-method': 'PUT',
  'access-control-request-headers': 'apikeyheader, x-other',
};

describe('an answer', () => {
  test('is for the origin that asked, and varies with it', async () => {
    const headers = await marked([ALLOWED], ALLOWED);
    expect(headers.get('access-control-allow-origin')).toBe(ALLOWED);
    expect(headers.get('access-control-expose-headers')).toContain('x-request-id');
    expect(headers.get('vary')).toBe('accept, origin');
  });

  test.each([FOREIGN, undefined, `${ALLOWED}.evil.example`, ALLOWED.toUpperCase()])(
    'is not for %p, and varies all the same: a cache would hand it on',
    async (origin) => {
      const headers = await marked([ALLOWED], origin);
      expect(headers.get('access-control-allow-origin')).toBeNull();
      expect(headers.get('vary')).toBe('accept, origin');
    },
  );

  test('is for every origin where that is configured, each by its name', async () => {
    const headers = await marked(['*'], FOREIGN);
    expect(headers.get('access-control-allow-origin')).toBe(FOREIGN);
    expect(headers.get('vary')).toBe('accept, origin');
  });

  test('is left as it is where no origin is configured', async () => {
    const headers = await marked([], FOREIGN);
    expect(headers.get('access-control-allow-origin')).toBeNull();
    expect(headers.get('vary')).toBe('accept');
  });

  test('that refuses is readable, too: what is unknown, has failed, or ends with the service', async () => {
    const { ask, shutdown } = serving([ALLOWED]);
    const waiting = ask('/waits', ALLOWED);
    const refusals = [await ask('/unknown', ALLOWED), await ask('/fails', ALLOWED)];
    shutdown.abort(unavailable('The service is shutting down'));
    refusals.push(await waiting);
    expect(refusals.map(({ status }) => status)).toEqual([404, 500, 503]);
    for (const { headers } of refusals) {
      expect(headers.get('access-control-allow-origin')).toBe(ALLOWED);
      expect(headers.get('vary')).toBe('origin');
    }
  });
});

describe('a preflight', () => {
  test('is answered to an allowed origin, and varies with all that it rests on', async () => {
    const { status, headers } = await serving([ALLOWED]).ask('/', ALLOWED, {
      method: 'OPTIONS',
      headers: PREFLIGHT,
    });
    expect(status).toBe(204);
    expect(headers.get('access-control-allow-origin')).toBe(ALLOWED);
    expect(headers.get('access-control-allow-headers')).toBe('apikeyheader, x-other');
    expect(headers.get('vary')).toContain('origin, access-control-request-headers');
  });

  test('is none of a foreign origin, nor an OPTIONS request that asks for no method', async () => {
    const { ask } = serving([ALLOWED]);
    expect((await ask('/', FOREIGN, { method: 'OPTIONS', headers: PREFLIGHT })).status).toBe(405);
    expect((await ask('/', ALLOWED, { method: 'OPTIONS' })).status).toBe(405);
    expect((await ask('/unknown', FOREIGN, { method: 'OPTIONS', headers: PREFLIGHT })).status).toBe(404);
  });
});
