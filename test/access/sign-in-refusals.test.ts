// A failed sign-in leaves a row of the audit log, and a key signs in only so often.

import { expect, test } from 'bun:test';
import { createTokenBuckets } from '../../src/access/sign-ins.ts';
import { BOOTSTRAP_KEY, startService, WORKSPACE } from '../support/service.ts';
import { shared } from '../support/shared.ts';

const { url } = await shared(startService());
const KEYS = `/admin/api/workspaces/${WORKSPACE}/keys`;

async function ask(method: string, path: string, body?: object, key: string | undefined = BOOTSTRAP_KEY) {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...(key === '' ? {} : { APIKeyHeader: key }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, body: text === '' ? {} : JSON.parse(text) };
}
const signIn = (key: string) => ask('POST', '/admin/api/session', { key }, '');
const newest = async (path: string) =>
  (await ask('GET', `${path}/audit?action=access.refuse-sign-in`)).body.items[0];
const makeKey = async (): Promise<{ id: string; key: string }> =>
  (await ask('POST', KEYS, { name: 'k', scopes: ['chat'], user_email: 'ada@example.com' })).body;

test('a sign-in with an unknown key, or a used link, is told of the service as a whole', async () => {
  for (const [path, body] of [
    ['/admin/api/session', { key: 'nobody-has-this-key-0123456789-abcdef' }],
    ['/admin/api/session', { key: 'short' }],
    ['/admin/api/session/link', { link: 'A'.repeat(43) }],
  ] as const) {
    const refused = await ask('POST', path, body, '');
    expect(refused.status).toBe(401);
    const row = await newest('/admin/api');
    expect(row).toMatchObject({
      actor: 'nobody',
      via: 'key',
      address: '127.0.0.1',
      request_id: refused.headers.get('x-request-id'),
      after: { reason: refused.body.detail },
    });
    expect(JSON.stringify(row)).not.toContain(Object.values(body)[0] ?? '');
  }
});

test.each([
  ['revoked', (id: string) => ask('DELETE', `${KEYS}/${id}`)],
  ['disabled', (id: string) => ask('PATCH', `${KEYS}/${id}`, { disabled: true })],
])('a sign-in with a key that is %s is told of its workspace, with the key', async (_how, end) => {
  const { id, key } = await makeKey();
  await end(id);
  expect((await signIn(key)).status).toBe(401);
  expect(await newest(`/admin/api/workspaces/${WORKSPACE}`)).toMatchObject({
    actor: 'ada@example.com',
    key_id: id,
    object: { kind: 'session', id },
  });
});

test('a key signs in so often at once, and no more', async () => {
  const { key } = await makeKey();
  const other = await makeKey();
  const statuses = (await Promise.all(Array.from({ length: 160 }, () => signIn(key)))).map(
    ({ status }) => status,
  );
  const opened = statuses.filter((status) => status === 204).length;
  expect(opened).toBeWithin(120, 140);
  expect(statuses.filter((status) => status === 429)).toHaveLength(160 - opened);
  const refused = await signIn(key);
  if (refused.status === 429) expect(Number(refused.headers.get('retry-after'))).toBeWithin(1, 6);
  expect((await signIn(other.key)).status).toBe(204);
});

test('a bucket fills again with time', () => {
  let nowMs = 0;
  const buckets = createTokenBuckets({ burst: 2, perMinute: 6, now: () => nowMs });
  expect([buckets.take('a'), buckets.take('a'), buckets.take('a'), buckets.take('b')]).toEqual([
    undefined,
    undefined,
    10,
    undefined,
  ]);
  nowMs = 10_000;
  expect([buckets.take('a'), buckets.take('a')]).toEqual([undefined, 10]);
});
