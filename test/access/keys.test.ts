import { expect, test } from 'bun:test';
import { shared } from '../support/shared.ts';
import { cacheKey, OPERATOR_KEY, startAdministration, WORKSPACE } from './administration.ts';

const KEYS = `/admin/api/workspaces/${WORKSPACE}/keys`;
const UNKNOWN = '00000000-0000-4000-8000-000000000000';
const key = OPERATOR_KEY;
const administration = await shared(startAdministration());
for (const id of ['other', 'pages'])
  await administration.ask('POST', '/admin/api/workspaces', { key, body: { id } });

const isAccepted = async (text: string): Promise<boolean> =>
  (await administration.access.authenticators.key(text)) !== undefined;

test('a key is answered with everything that was asked for, and with its text this once', async () => {
  const { ask } = administration;
  const made = await ask('POST', KEYS, {
    key,
    body: {
      name: 'Import',
      scopes: ['documents:read', 'metrics', 'documents:read'],
      user_email: 'Ada@Example.com',
      expires_at: '2999-01-01T00:00:00+01:00',
      limits: { requests_per_minute: 60, tokens_per_minute: null, budget_per_month: 12.5, other: 1 },
    },
  });
  expect(made.status).toBe(201);
  expect(made.headers.get('cache-control')).toBe('no-store');
  const { id, key: text, created_at, ...fields } = made.body;
  expect(fields as object).toEqual({
    name: 'Import',
    prefix: text.slice(0, 10),
    scopes: ['documents:read', 'metrics'],
    user_email: 'ada@example.com',
    limits: { requests_per_minute: 60, budget_per_month: 12.5 },
    disabled: false,
    expires_at: '2998-12-31T23:00:00.000Z',
    last_used_at: null,
  });
  expect(text).toMatch(/^atr_[0-9A-Za-z]{39}$/);
  expect(new Date(created_at).toISOString()).toBe(created_at);

  const listed = await ask('GET', KEYS, { key });
  expect(listed.body.items.find((item) => item.id === id)).toEqual({ id, created_at, ...fields } as never);
  expect(listed.text).not.toContain(text);

  const principal = await administration.access.authenticators.key(text);
  expect(principal).toMatchObject({ keyId: id, workspaceId: WORKSPACE, email: 'ada@example.com' });
  expect([...(principal?.scopes ?? [])]).toEqual(['documents:read', 'metrics']);
  expect(principal?.limits).toEqual({ requests_per_minute: 60, budget_per_month: 12.5 });
});

test('without an e-mail a key acts for whoever makes it, by their e-mail in that workspace', async () => {
  const { ask, makeKey } = administration;
  const admin = await makeKey(['admin'], { user_email: 'head@example.com' });
  const made = await ask('POST', KEYS, { key: admin.key, body: { name: 'k', scopes: ['chat'] } });
  expect(made.body.user_email).toBe('head@example.com');
  const elsewhere = await ask('POST', '/admin/api/workspaces/other/keys', {
    key,
    body: { name: 'k', scopes: ['chat'] },
  });
  expect(elsewhere.body.user_email).toBe(`admin@${WORKSPACE}.localhost`);
  const people = await ask('GET', '/admin/api/workspaces/other/users', { key });
  expect(people.body.items.map((user) => user.email)).toEqual([`admin@${WORKSPACE}.localhost`]);
});

test('keys made at once for one new e-mail share one person', async () => {
  const { makeKey, ask } = administration;
  await Promise.all(Array.from({ length: 8 }, () => makeKey(['chat'], { user_email: 'twin@example.com' })));
  const people = await ask('GET', `/admin/api/workspaces/${WORKSPACE}/users?limit=100`, { key });
  expect(people.body.items.filter((user) => user.email === 'twin@example.com')).toHaveLength(1);
});

const NAMED = { name: 'k', scopes: ['chat'] };
const REFUSED: [string, object, (string | number)[], string][] = [
  ['an unknown scope', { ...NAMED, scopes: ['chat', 'everything'] }, ['body', 'scopes', 1], 'enum'],
  ['no scope', { ...NAMED, scopes: [] }, ['body', 'scopes'], 'too_short'],
  ['scopes that are no list', { ...NAMED, scopes: 'chat' }, ['body', 'scopes'], 'list_type'],
  ['no name', { scopes: ['chat'] }, ['body', 'name'], 'missing'],
  ['an empty name', { ...NAMED, name: '' }, ['body', 'name'], 'string_too_short'],
  ['an e-mail without an @', { ...NAMED, user_email: 'ada' }, ['body', 'user_email'], 'value_error'],
  [
    'an expiry in the past',
    { ...NAMED, expires_at: '2020-01-01T00:00:00Z' },
    ['body', 'expires_at'],
    'value_error',
  ],
  [
    'an expiry after the year 9999',
    { ...NAMED, expires_at: '9999-12-31T23:59:59-23:59' },
    ['body', 'expires_at'],
    'datetime_parsing',
  ],
  ['an expiry that is no date', { ...NAMED, expires_at: 'soon' }, ['body', 'expires_at'], 'datetime_parsing'],
  [
    'a limit of zero',
    { ...NAMED, limits: { requests_per_minute: 0 } },
    ['body', 'limits', 'requests_per_minute'],
    'greater_than_equal',
  ],
  [
    'a budget of zero',
    { ...NAMED, limits: { budget_per_month: 0 } },
    ['body', 'limits', 'budget_per_month'],
    'greater_than',
  ],
];

test.each(REFUSED)('a key with %s is refused with 422 at its place', async (_what, body, loc, type) => {
  const refused = await administration.ask('POST', KEYS, { key, body });
  expect(refused.status).toBe(422);
  expect(refused.body.detail).toMatchObject([{ loc, type }]);
});

test('an unknown key, or one of another workspace, is 404 for every operation on it', async () => {
  const { ask, makeKey } = administration;
  const foreign = await makeKey(['chat'], {}, 'other');
  for (const id of [UNKNOWN, foreign.id]) {
    expect((await ask('DELETE', `${KEYS}/${id}`, { key })).status).toBe(404);
    expect((await ask('POST', `${KEYS}/${id}/rotate`, { key, body: {} })).status).toBe(404);
    expect((await ask('PATCH', `${KEYS}/${id}`, { key, body: { name: 'x' } })).status).toBe(404);
  }
  expect((await ask('DELETE', `${KEYS}/no-uuid`, { key })).status).toBe(422);
  expect((await ask('GET', '/admin/api/workspaces/nowhere/keys', { key })).status).toBe(404);
  expect((await ask('POST', '/admin/api/workspaces/nowhere/keys', { key, body: NAMED })).status).toBe(404);
});

test('a revoked key is refused from the answer on, leaves the list, and is not revoked twice', async () => {
  const { ask, makeKey } = administration;
  const made = await makeKey(['admin']);
  expect((await ask('GET', KEYS, { key: made.key })).status).toBe(200);
  expect((await ask('DELETE', `${KEYS}/${made.id}`, { key: made.key })).status).toBe(204);
  expect((await ask('GET', KEYS, { key: made.key })).status).toBe(401);
  expect((await ask('DELETE', `${KEYS}/${made.id}`, { key })).status).toBe(404);
  const listed = await ask('GET', `${KEYS}?limit=100`, { key });
  expect(listed.body.items.some((item) => item.id === made.id)).toBe(false);
});

test('a disabled key is refused until it is enabled', async () => {
  const { ask, makeKey } = administration;
  const made = await makeKey(['chat']);
  expect(await isAccepted(made.key)).toBe(true);
  const disabled = await ask('PATCH', `${KEYS}/${made.id}`, {
    key,
    body: { disabled: true, name: 'paused' },
  });
  expect(disabled.body).toMatchObject({ disabled: true, name: 'paused' });
  expect(await isAccepted(made.key)).toBe(false);
  await ask('PATCH', `${KEYS}/${made.id}`, { key, body: { disabled: false } });
  expect(await isAccepted(made.key)).toBe(true);
});

test('an expired key is refused although it is cached', async () => {
  const { makeKey, first } = administration;
  const made = await makeKey(['chat'], {
    expires_at: new Date(first.clock.now().getTime() + 60_000).toISOString(),
  });
  await cacheKey(first, made.key);
  first.clock.advance(60_001);
  expect(first.access.authenticators.key(made.key)).toBeUndefined();
});

test('rotating without a body replaces the key at once', async () => {
  const { ask, makeKey } = administration;
  const old = await makeKey(['chat', 'models'], {
    user_email: 'r@example.com',
    limits: { requests_per_minute: 5 },
  });
  expect(await isAccepted(old.key)).toBe(true);
  const rotated = await ask('POST', `${KEYS}/${old.id}/rotate`, { key });
  expect(rotated.status).toBe(201);
  const { id, key: text, created_at, ...fields } = rotated.body;
  expect(fields).toMatchObject({
    name: old.name,
    scopes: old.scopes,
    user_email: old.user_email,
    limits: old.limits,
    expires_at: null,
    last_used_at: null,
  });
  expect([id, text]).not.toContain(old.id);
  expect(await isAccepted(text)).toBe(true);
  expect(await isAccepted(old.key)).toBe(false);
  expect((await ask('POST', `${KEYS}/${old.id}/rotate`, { key })).status).toBe(404);
});

test('with a grace period both keys are accepted until it is over', async () => {
  const { ask, makeKey, first } = administration;
  const old = await makeKey(['chat']);
  const rotated = await ask('POST', `${KEYS}/${old.id}/rotate`, { key, body: { grace_seconds: 60 } });
  expect(rotated.status).toBe(201);
  expect([await isAccepted(old.key), await isAccepted(rotated.body.key)]).toEqual([true, true]);
  first.clock.advance(60_001);
  expect([await isAccepted(old.key), await isAccepted(rotated.body.key)]).toEqual([false, true]);
});

test('a grace period never prolongs the old key, and is a week at most', async () => {
  const { ask, makeKey, first } = administration;
  const expiresAt = new Date(first.clock.now().getTime() + 30_000).toISOString();
  const old = await makeKey(['chat'], { expires_at: expiresAt });
  const body = { grace_seconds: 3600, expires_at: null };
  const rotated = await ask('POST', `${KEYS}/${old.id}/rotate`, { key, body });
  expect(rotated.body.expires_at).toBeNull();
  const listed = await ask('GET', `${KEYS}?limit=100`, { key });
  expect(listed.body.items.find((item) => item.id === old.id)?.expires_at).toBe(expiresAt);
  const refused = await ask('POST', `${KEYS}/${rotated.body.id}/rotate`, {
    key,
    body: { grace_seconds: 604_801 },
  });
  expect(refused.body.detail).toMatchObject([{ loc: ['body', 'grace_seconds'], type: 'less_than_equal' }]);
});

test('an expired key is rotated only into one with another expiry', async () => {
  const { ask, makeKey, first } = administration;
  const soon = new Date(first.clock.now().getTime() + 60_000).toISOString();
  const old = await makeKey(['chat'], { expires_at: soon });
  first.clock.advance(60_001);
  expect((await ask('POST', `${KEYS}/${old.id}/rotate`, { key })).status).toBe(409);
  const rotated = await ask('POST', `${KEYS}/${old.id}/rotate`, { key, body: { expires_at: null } });
  expect(rotated.status).toBe(201);
  expect(await isAccepted(rotated.body.key)).toBe(true);
});

test.each([
  [0, 404],
  [60, 409],
])('of two rotations at once with %d seconds of grace, one succeeds', async (grace_seconds, refusal) => {
  const { ask, makeKey } = administration;
  const old = await makeKey(['chat']);
  const rotate = () => ask('POST', `${KEYS}/${old.id}/rotate`, { key, body: { grace_seconds } });
  const both = await Promise.all([rotate(), rotate()]);
  expect(both.map(({ status }) => status).sort()).toEqual([201, refusal]);
});

test('pages hold every key once, newest first, whatever is added meanwhile', async () => {
  const { ask, makeKey } = administration;
  const made = [];
  for (let index = 0; index < 7; index++) made.unshift((await makeKey(['chat'], {}, 'pages')).id);
  const seen: string[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const page = await ask('GET', `/admin/api/workspaces/pages/keys?limit=3&cursor=${cursor}`, { key });
    expect(page.status).toBe(200);
    seen.push(...page.body.items.map(({ id }) => id));
    cursor = page.body.next_cursor;
    await makeKey(['chat'], {}, 'pages');
  }
  expect(seen).toEqual(made);
});

test.each(['limit=0', 'limit=101', 'limit=x'])('a page of %s is refused', async (query) => {
  const refused = await administration.ask('GET', `${KEYS}?${query}`, { key });
  expect(refused.status).toBe(422);
  expect(refused.body.detail).toMatchObject([{ loc: ['query', 'limit'] }]);
});

test.each(['x', 'MTIz', Buffer.from('12:not-a-uuid').toString('base64url')])(
  'the cursor %s is refused',
  async (cursor) => {
    const refused = await administration.ask('GET', `${KEYS}?cursor=${cursor}`, { key });
    expect(refused.status).toBe(422);
    expect(refused.body.detail).toMatchObject([{ loc: ['query', 'cursor'], type: 'value_error' }]);
  },
);
