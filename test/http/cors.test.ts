// What browsers of other origins may read, and that no cache hands an answer for one origin to another.

import { describe, expect, test } from 'bun:test';
import { createCors } from '../../src/http/cors.ts';

const ALLOWED = 'https://app.example.com';
const FOREIGN = 'https://evil.example.com';

const requestOf = (origin: string | undefined, headers: Record<string, string> = {}): Request =>
  new Request('http://localhost/', { headers: { ...(origin === undefined ? {} : { origin }), ...headers } });

function marked(origins: string[], origin: string | undefined): Headers {
  const response = new Response(null, { headers: { vary: 'accept' } });
  createCors(origins).mark?.(requestOf(origin), response);
  return response.headers;
}

const PREFLIGHT = {
  'access-control-request-method': 'PUT',
  'access-control-request-headers': 'apikeyheader, x-other',
};

describe('an answer', () => {
  test('is for the origin that asked, and varies with it', () => {
    const headers = marked([ALLOWED], ALLOWED);
    expect(headers.get('access-control-allow-origin')).toBe(ALLOWED);
    expect(headers.get('access-control-expose-headers')).toContain('x-request-id');
    expect(headers.get('vary')).toBe('accept, origin');
  });

  test.each([FOREIGN, undefined, `${ALLOWED}.evil.example`, ALLOWED.toUpperCase()])(
    'is not for %p, and varies all the same: a cache would hand it on',
    (origin) => {
      const headers = marked([ALLOWED], origin);
      expect(headers.get('access-control-allow-origin')).toBeNull();
      expect(headers.get('vary')).toBe('accept, origin');
    },
  );

  test('is for every origin where that is configured, each by its name', () => {
    expect(marked(['*'], FOREIGN).get('access-control-allow-origin')).toBe(FOREIGN);
    expect(marked(['*'], FOREIGN).get('vary')).toBe('accept, origin');
  });

  test('is left as it is where no origin is configured', () => {
    expect(Object.fromEntries(marked([], FOREIGN))).toEqual({ vary: 'accept' });
  });
});

describe('a preflight', () => {
  test('is answered to an allowed origin, and varies with all that it rests on', () => {
    const answer = createCors([ALLOWED]).preflight(requestOf(ALLOWED, PREFLIGHT));
    expect(answer?.status).toBe(204);
    expect(Object.fromEntries(answer?.headers ?? [])).toMatchObject({
      'access-control-allow-origin': ALLOWED,
      'access-control-allow-headers': 'apikeyheader, x-other',
      vary: 'origin, access-control-request-headers',
    });
  });

  test('is none of a foreign origin, nor an OPTIONS request that asks for no method', () => {
    const cors = createCors([ALLOWED]);
    expect(cors.preflight(requestOf(FOREIGN, PREFLIGHT))).toBeUndefined();
    expect(cors.preflight(requestOf(ALLOWED))).toBeUndefined();
  });
});
