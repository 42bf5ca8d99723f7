// The holder of any key may read its identity, the remainders of its limits, and its use of models.

import { describe, expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { pricedModels, startGateway } from '../support/gateway.ts';
import { WORKSPACE } from '../support/service.ts';
import { shared } from '../support/shared.ts';
import { createClient } from './gateway/client.ts';

const gateway = await shared(startGateway(pricedModels));
const client = createClient(gateway);

type Left = { remaining: number; resets_at: string } | null;
type Me = {
  workspace_id: string;
  key: {
    id: string;
    name: string;
    prefix: string;
    scopes: string[];
    created_at: string;
    expires_at: string | null;
  };
  user: { id: string; email: string; name: string | null } | null;
  limits: Record<string, number | null>;
  remaining: { requests_per_minute: Left; tokens_per_minute: Left; budget_per_month: Left };
};
type Sums = { group: string; requests: number; total_tokens: number; cost: number };
type Usage = { from: string; to: string; group_by: string; items: Sums[]; total: Sums };

const get = (path: string, headers: Record<string, string>): Promise<Response> =>
  fetch(`${gateway.url}${path}`, { headers });
async function read<Body>(path: string, key: string): Promise<Body> {
  const response = await get(path, { authorization: `Bearer ${key}` });
  expect(response.status).toBe(200);
  return (await response.json()) as Body;
}
const me = (key: string) => read<Me>('/v1/me', key);
const usage = (key: string, query = '') => read<Usage>(`/v1/me/usage?${query}`, key);
const askOnce = async (key: string): Promise<number> => {
  const response = await client.ask('ok', { key });
  await response.text();
  return response.status;
};

describe('GET /v1/me', () => {
  test('tells any key who it is, in either header, whatever its scopes', async () => {
    const response = await fetch(`${gateway.url}/admin/api/workspaces/${WORKSPACE}/keys`, {
      method: 'POST',
      headers: { APIKeyHeader: gateway.key, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'of Ada', scopes: ['bots'], user_email: 'ada@example.com' }),
    });
    const made = (await response.json()) as Record<string, unknown> & { key: string };
    const own = await me(made.key);
    expect(own).toEqual({
      workspace_id: WORKSPACE,
      key: {
        id: made['id'],
        name: 'of Ada',
        prefix: made['prefix'],
        scopes: ['bots'],
        created_at: made['created_at'],
        expires_at: null,
      } as Me['key'],
      user: { id: expect.any(String), email: 'ada@example.com', name: null },
      limits: { requests_per_minute: null, tokens_per_minute: null, budget_per_month: null },
      remaining: { requests_per_minute: null, tokens_per_minute: null, budget_per_month: null },
    });
    expect(await (await get('/v1/me', { APIKeyHeader: made.key })).json()).toEqual(own);
    expect(JSON.stringify(own)).not.toContain(made.key);
  });

  test('counts down as the limiter does: what is left is admitted, and not one more', async () => {
    const { key } = await client.newKey({ requests_per_minute: 5 });
    const askedAt = Date.now();
    expect((await me(key)).remaining.requests_per_minute?.remaining).toBe(5);
    for (let index = 0; index < 3; index++) expect(await askOnce(key)).toBe(200);
    const left = (await me(key)).remaining.requests_per_minute;
    expect(Date.parse(left?.resets_at ?? '')).toBeWithin(askedAt + 12_000, Date.now() + 36_000);
    let admitted = 0;
    while ((await askOnce(key)) === 200) admitted += 1;
    // One more may be asked every twelve seconds from the first request on.
    const again = (): number => Math.floor((Date.now() - askedAt) / 12_000);
    expect(admitted).toBeWithin(left?.remaining ?? 0, (left?.remaining ?? 0) + again() + 1);
    expect((await me(key)).remaining.requests_per_minute?.remaining).toBeLessThanOrEqual(again());
  });

  test('takes off what requests under way have reserved, and gives back what they did not use', async () => {
    const { key } = await client.newKey({ tokens_per_minute: 100_000, budget_per_month: 50_000 });
    const before = (await me(key)).remaining;
    expect(before.tokens_per_minute?.remaining).toBe(100_000);
    expect(before.budget_per_month?.remaining).toBe(50_000);
    const leaving = new AbortController();
    const response = await client.ask('trickle', {
      key,
      body: { stream: true, max_tokens: 5000 },
      signal: leaving.signal,
    });
    const during = (await me(key)).remaining;
    expect(during.tokens_per_minute?.remaining).toBeLessThanOrEqual(95_000);
    expect(during.budget_per_month?.remaining).toBeLessThanOrEqual(45_000);
    leaving.abort();
    await response.text().catch(() => undefined);
    const after = await eventually('the reservation to be given back', async () => {
      const { remaining } = await me(key);
      return (remaining.budget_per_month?.remaining ?? 0) > 45_000 ? remaining : undefined;
    });
    const now = new Date();
    const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
    expect(after.budget_per_month?.resets_at).toBe(new Date(next).toISOString());
  });
});

describe('GET /v1/me/usage', () => {
  test("sums the key's own calls of this month by model or day, and no other key's", async () => {
    const [{ key }, { key: other }] = [
      await client.newKey({ budget_per_month: 10_000 }),
      await client.newKey({}),
    ];
    for (let index = 0; index < 2; index++) expect(await askOnce(key)).toBe(200);
    expect(await askOnce(other)).toBe(200);
    const own = await eventually('the calls to be summed', async () => {
      const sums = await usage(key);
      return sums.total.requests === 2 ? sums : undefined;
    });
    expect(own.items.map(({ group }) => group)).toEqual(['ok']);
    expect(own.from).toEndWith('-01T00:00:00.000Z');
    expect(own.total.cost).toBeGreaterThan(0);
    expect((await me(key)).remaining.budget_per_month?.remaining).toBeCloseTo(10_000 - own.total.cost, 6);
    const days = await usage(key, 'group_by=day');
    expect(days.items.reduce((sum, { requests }) => sum + requests, 0)).toBe(2);
    for (const { group } of days.items) expect(group).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect((await usage(key, 'from=2020-01-01&to=2020-02-01')).total.requests).toBe(0);
  });

  test.each([
    ['to=0001-01-01', '0001-01-01T00:00:00.000Z'],
    ['to=0050-03-05T10:20', '0050-03-01T00:00:00.000Z'],
    ['to=9999-12-31T23:59:59', '9999-12-01T00:00:00.000Z'],
    ['from=9999-12-31T23:59:59&to=9999-12-31T23:59:59.999', '9999-12-31T23:00:00.000Z'],
  ])('sums a window at the ends of the calendar: %s', async (query, from) => {
    expect(await usage(gateway.key, query)).toMatchObject({ from, total: { requests: 0 } });
  });
});

test.each([
  ['/v1/me?verbose=true', 'extra_forbidden', 'verbose'],
  ['/v1/me/usage?workspace_id=acme', 'extra_forbidden', 'workspace_id'],
  ['/v1/me/usage?from=yesterday', 'datetime_parsing', 'from'],
  ['/v1/me/usage?to=2026-02-30', 'datetime_parsing', 'to'],
  ['/v1/me/usage?from=0000-01-01', 'datetime_parsing', 'from'],
  ['/v1/me/usage?to=9999-12-31T23:59:59-23:59', 'datetime_parsing', 'to'],
  ['/v1/me/usage?from=2026-02-01&to=2026-01-01', 'value_error', 'to'],
  ['/v1/me/usage?from=2020-01-01&to=2026-01-01', 'value_error', 'from'],
  ['/v1/me/usage?group_by=key', 'enum', 'group_by'],
])('%s is 422 %s', async (path, type, name) => {
  const response = await get(path, { APIKeyHeader: gateway.key });
  expect(response.status).toBe(422);
  expect(await response.json()).toMatchObject({ detail: [{ type, loc: ['query', name] }] });
});

test.each(['/v1/me', '/v1/me/usage'])('%s needs a valid key', async (path) => {
  for (const headers of [{}, { APIKeyHeader: 'unknown' }, { authorization: 'Bearer unknown' }]) {
    const response = await get(path, headers as Record<string, string>);
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toContain('Bearer');
    expect(await response.json()).toEqual({ detail: expect.any(String) });
  }
});
