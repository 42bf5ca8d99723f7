// Requests are read from their own target, whatever their Host header holds, and answered in proportion.

import { expect, test } from 'bun:test';
import { Type } from '@sinclair/typebox';
import { ValidationFailure } from '../../src/core/errors.ts';
import { json } from '../../src/http/input.ts';
import { createParameterParser, showPath, splitTarget } from '../../src/http/url.ts';

const parse = createParameterParser({
  path: '/v1/{workspace_id}/things/{thing}',
  parameters: Type.Object({ workspace_id: Type.String(), thing: Type.String() }),
  query: Type.Object({ limit: Type.Optional(Type.Integer()) }),
  lastTakesRest: false,
});

const LABELS = Type.Array(Type.String());
const Body = json(Type.Object({ labels: Type.Optional(LABELS), slots: Type.Optional(Type.Unknown()) }));

/** As Elysia does it. */
const read = (request: Request): Promise<{ value: unknown }> =>
  (Body as unknown as { '~standard': { validate(value: unknown): Promise<{ value: unknown }> } })[
    '~standard'
  ].validate(request);

test.each(['http://localhost:3000', 'http://[::1]', 'http://%zz', 'http://[::1', 'http://a', ''])(
  'a target behind the origin %p is read alike',
  (origin) => {
    const url = `${origin}/v1/acme/things/a%2Fb?limit=3&next=http://b/c`;
    expect(parse(url)).toEqual({
      path: { workspace_id: 'acme', thing: 'a/b' },
      query: { limit: 3 },
      entries: [],
    });
    expect(splitTarget(url)).toEqual({ path: '/v1/acme/things/a%2Fb', search: 'limit=3&next=http://b/c' });
  },
);

function requestOf(body: string): Request {
  const request = new Request('http://localhost/v1/acme/things/a', { method: 'POST', body });
  request.headers.set('content-type', 'application/json');
  return request;
}

async function failureOf(body: string): Promise<ValidationFailure> {
  const failure: unknown = await read(requestOf(body)).catch((error: unknown) => error);
  if (!(failure instanceof ValidationFailure)) throw failure;
  return failure;
}

const mistakesOf = async (body: string): Promise<number> => (await failureOf(body)).entries.length;

test('every mistake of a body is told, up to a thousand', async () => {
  expect(await mistakesOf(`{"labels":[${'1,'.repeat(998)}1]}`)).toBe(999);
  expect(await mistakesOf(`{"labels":[${'1,'.repeat(40_000)}1]}`)).toBe(1000);
  expect(await mistakesOf(`{"slots":[${'"\\u0000",'.repeat(40_000)}1]}`)).toBe(1000);
});

test('a body holds 50,000 values at most, however short they are', async () => {
  const bodyOf = (values: number): string => `{"slots":[${'1,'.repeat(values - 3)}1]}`;
  expect(await read(requestOf(bodyOf(50_000)))).toBeDefined();
  const refused = await failureOf(bodyOf(50_001));
  expect(refused.entries).toMatchObject([{ type: 'json_invalid', ctx: { error: 'More than 50000 values' } }]);
});

test('a query has 1,000 parameters at most', () => {
  const queryOf = (count: number): string => `limit=3${'&next=1'.repeat(count - 1)}`;
  const url = (count: number): string => `http://localhost/v1/acme/things/a?${queryOf(count)}`;
  expect(parse(url(1000))?.entries).toEqual([]);
  expect(parse(url(1001))?.entries).toMatchObject([{ type: 'too_long', loc: ['query'] }]);
});

test.each([
  ['http://localhost/v1/acme/a%2Fb?limit=3', '/v1/acme/a%2Fb'],
  ['http://localhost/by_created_at&authorization=secret/x', '/by_created_at&authorization=…/x'],
  [`http://localhost/v1/atr_${'0'.repeat(39)}/x`, '/v1/atr_…/x'],
  ['http://localhost/a"b\\c\nd\u{1b}[0m\u{e9}\ud800', '/a%22b%5Cc%0Ad%1B[0m%C3%A9%EF%BF%BD'],
  [`/${'a'.repeat(300)}`, `/${'a'.repeat(199)}…`],
])('a log shows %p as %p', (url, shown) => {
  expect(showPath(url)).toBe(shown);
});
