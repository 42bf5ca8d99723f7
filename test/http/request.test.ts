// Requests are read from their own target, whatever their Host header holds, and answered in proportion.

import { expect, test } from 'bun:test';
import { Type } from '@sinclair/typebox';
import { ValidationFailure } from '../../src/core/errors.ts';
import type { Operation } from '../../src/http/operation.ts';
import { createRequestParser, splitTarget } from '../../src/http/request.ts';

const LABELS = Type.Array(Type.String());

const parser = createRequestParser({
  id: 'test.request',
  method: 'POST',
  path: '/v1/{workspace_id}/things/{thing}',
  area: 'test',
  summary: 'A test',
  credential: 'none',
  parameters: Type.Object({ workspace_id: Type.String(), thing: Type.String() }),
  query: Type.Object({ limit: Type.Optional(Type.Integer()) }),
  body: Type.Object({ labels: Type.Optional(LABELS), slots: Type.Optional(Type.Unknown()) }),
  responses: {},
} satisfies Operation);

test.each(['http://localhost:3000', 'http://[::1]', 'http://%zz', 'http://[::1', 'http://a', ''])(
  'a target behind the origin %p is read alike',
  (origin) => {
    const url = `${origin}/v1/acme/things/a%2Fb?limit=3&next=http://b/c`;
    expect(parser.parameters(url)).toEqual({
      path: { workspace_id: 'acme', thing: 'a/b' },
      query: { limit: 3 },
      entries: [],
    });
    expect(splitTarget(url)).toEqual({
      path: '/v1/acme/things/a%2Fb',
      search: 'limit=3&next=http://b/c',
    });
  },
);

async function mistakesOf(body: string): Promise<number> {
  const request = new Request('http://localhost/v1/acme/things/a', { method: 'POST', body });
  request.headers.set('content-type', 'application/json');
  const failure: unknown = await parser.body(request).catch((error: unknown) => error);
  if (!(failure instanceof ValidationFailure)) throw failure;
  return failure.entries.length;
}

test('every mistake of a body is told, up to a thousand', async () => {
  expect(await mistakesOf(`{"labels":[${'1,'.repeat(998)}1]}`)).toBe(999);
  expect(await mistakesOf(`{"labels":[${'1,'.repeat(400_000)}1]}`)).toBe(1000);
  expect(await mistakesOf(`{"slots":[${'"\\u0000",'.repeat(100_000)}1]}`)).toBe(1000);
});
