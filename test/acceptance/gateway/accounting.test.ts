// What models were used for: every request once, with the tokens that the upstream told, however it ended.

import { describe, expect, test } from 'bun:test';
import { eventually } from '../../support/child.ts';
import { startGateway } from '../../support/gateway.ts';
import { WORKSPACE } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';
import { bodyOf, expectRefusal, expectStatus } from '../support/caller.ts';
import { createClient } from './client.ts';

const PRICE = { input_per_million: 2_000_000, output_per_million: 3_000_000 };
const FAULTS = {
  ok: 'ok',
  refused: 'status-400',
  failing: 'status-500',
  breaking: 'die-mid',
  trickling: 'trickle+ms=30+words=200',
  silent: 'hang',
  cached: 'ok+key=cached',
  untold: 'cut',
  unstreamed: 'unstreamed',
};

const gateway = await shared(
  startGateway((mockUrl) => ({
    upstreams: { mock: { base_url: `${mockUrl}/v1`, retries: 0 } },
    models: {
      ...Object.fromEntries(
        Object.entries(FAULTS).map(([name, model]) => [
          name,
          {
            targets: [{ upstream: 'mock', model }],
            price: PRICE,
            cache: { ttl_seconds: name === 'cached' ? 60 : 0 },
          },
        ]),
      ),
      backed: {
        targets: [{ upstream: 'mock', model: 'status-500+key=backed' }],
        fallbacks: ['ok'],
        price: PRICE,
      },
      dying: { targets: [{ upstream: 'mock', model: 'die' }] },
      echo: { targets: [{ model: 'local-echo' }] },
      embed: {
        endpoints: ['embeddings'],
        targets: [{ upstream: 'mock', model: 'ok+key=embed' }],
        price: PRICE,
      },
    },
  })),
);
const client = createClient(gateway);

type Told = { prompt_tokens: number; completion_tokens: number };
const usageOf = async (response: Response): Promise<Told> =>
  ((await response.json()) as { usage: Told }).usage;

/** Accounts of a key of its own: tests do not see one another's. */
async function accountsOf(keyId: string, requests: number) {
  return eventually(`${requests} accounts of the key`, async () => {
    const found = (await client.usage({ group_by: 'key' })).items.find(({ group }) => group === keyId);
    return found !== undefined && found.requests >= requests && found;
  });
}

/** The sums of one model and nothing else. */
const ofModel = async (model: string, requests: number) =>
  eventually(`${requests} accounts of ${model}`, async () => {
    const found = (await client.usage({ group_by: 'model' })).items.find(({ group }) => group === model);
    return found !== undefined && found.requests >= requests && found;
  });

test('whole answers count with the tokens that they tell, and cost by the price table', async () => {
  const { id, key } = await client.newKey({});
  const told: Told[] = [];
  for (let index = 0; index < 20; index++) told.push(await usageOf(await client.ask('ok', { key })));
  const prompt = told.reduce((sum, each) => sum + each.prompt_tokens, 0);
  const completion = told.reduce((sum, each) => sum + each.completion_tokens, 0);
  expect(await accountsOf(id, 20)).toMatchObject({
    requests: 20,
    estimated: 0,
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    cost: 2 * prompt + 3 * completion,
  });
});

test('streams count as whole answers do, though the client does not ask for the usage', async () => {
  const { id, key } = await client.newKey({});
  const told = await usageOf(await client.ask('ok', { key }));
  for (const body of [{ stream: true }, { stream: true, stream_options: { include_usage: true } }]) {
    const text = await (await client.ask('ok', { key, body })).text();
    expect(text).toContain('[DONE]');
    expect(text.includes('prompt_tokens')).toBe('stream_options' in body);
  }
  expect(await accountsOf(id, 3)).toMatchObject({
    requests: 3,
    estimated: 0,
    prompt_tokens: 3 * told.prompt_tokens,
    completion_tokens: 3 * told.completion_tokens,
  });
});

test('a built-in model counts its own tokens, streamed or not, asked for them or not', async () => {
  const { id, key } = await client.newKey({});
  const told = await usageOf(await client.ask('echo', { key }));
  for (const body of [{ stream: true }, { stream: true, stream_options: { include_usage: true } }]) {
    const text = await (await client.ask('echo', { key, body })).text();
    expect(text.includes('prompt_tokens')).toBe('stream_options' in body);
  }
  expect(await accountsOf(id, 3)).toMatchObject({
    requests: 3,
    estimated: 0,
    prompt_tokens: 3 * told.prompt_tokens,
    completion_tokens: 3 * told.completion_tokens,
  });
});

test('an upstream that does not stream counts once', async () => {
  const { id, key } = await client.newKey({});
  const text = await (await client.ask('unstreamed', { key, body: { stream: true } })).text();
  expect(text).toContain('[DONE]');
  expect(await accountsOf(id, 1)).toMatchObject({ requests: 1, estimated: 0 });
});

test('refusals and failures count without tokens and cost', async () => {
  const { id, key } = await client.newKey({});
  expectStatusOf(await client.ask('refused', { key }), 400);
  expectStatusOf(await client.ask('failing', { key }), 500);
  expect(await accountsOf(id, 2)).toMatchObject({ requests: 2, total_tokens: 0, cost: 0 });
});

test('failures are of the target that was asked last; what a model cannot do is a refusal', async () => {
  expectStatusOf(await client.ask('dying'), 502);
  expectStatusOf(await client.ask('echo', { body: { messages: 5 } }), 400);
  await eventually('the accounts', async () => {
    const targets = await client.usage({ group_by: 'target' });
    const has = (name: string): boolean => targets.items.some(({ group }) => group === name);
    return has('mock/die') && has('local/local-echo');
  });
  const outcomes = (await client.usage({ group_by: 'outcome' })).items.map(({ group }) => group);
  expect(outcomes).toContain('refused');
});

const expectStatusOf = (response: Response, status: number): void => expect(response.status).toBe(status);

test('what was answered by a fallback is the account of the fallback', async () => {
  const before = (await client.usage()).items.find(({ group }) => group === 'backed');
  const response = await client.ask('backed');
  expectStatusOf(response, 200);
  await response.text();
  expect(before).toBeUndefined();
  expect((await ofModel('ok', 1)).requests).toBeGreaterThan(0);
  expect((await client.usage()).items.some(({ group }) => group === 'backed')).toBe(false);
});

test('what broke off counts as failed, with an estimate of what had come', async () => {
  const { id, key } = await client.newKey({});
  const text = await (await client.ask('breaking', { key, body: { stream: true } })).text();
  expect(text).toContain('"error"');
  await (await client.ask('untold', { key, body: { stream: true } })).text();
  const account = await accountsOf(id, 2);
  expect(account).toMatchObject({ requests: 2, estimated: 2 });
  expect(account.prompt_tokens).toBeGreaterThan(0);
  expect(account.completion_tokens).toBeGreaterThan(0);
  expect(account.cost).toBe(2 * account.prompt_tokens + 3 * account.completion_tokens);
});

test('what was cancelled counts with an estimate, in the middle and before the first byte', async () => {
  const { id, key } = await client.newKey({});
  const leaving = new AbortController();
  const response = await client.ask('trickling', { key, body: { stream: true }, signal: leaving.signal });
  const reader = response.body?.getReader();
  for (let index = 0; index < 3; index++) await reader?.read();
  leaving.abort();
  const early = new AbortController();
  const left = client.ask('silent', { key, signal: early.signal }).catch(() => undefined);
  await eventually('it to be asked', async () => (await gateway.mock.state('hang')).running === 1);
  early.abort();
  await left;
  const account = await accountsOf(id, 2);
  expect(account).toMatchObject({ requests: 2, estimated: 2 });
  expect(account.prompt_tokens).toBeGreaterThan(0);
  expect(account.completion_tokens).toBeGreaterThan(0);
  const outcomes = await client.usage({ group_by: 'outcome' });
  expect(outcomes.items.find(({ group }) => group === 'cancelled')?.requests).toBeGreaterThanOrEqual(2);
});

test('what is answered from memory counts, and costs nothing', async () => {
  const { id, key } = await client.newKey({});
  const body = { temperature: 0, seed: 1 };
  for (let index = 0; index < 5; index++) await (await client.ask('cached', { key, body })).text();
  const account = await accountsOf(id, 5);
  const { requests } = await gateway.mock.state('cached');
  expect(requests).toBe(1);
  const told = account.prompt_tokens / 5;
  expect(account.requests).toBe(5);
  expect(account.cost).toBe(2 * told + (3 * account.completion_tokens) / 5);
});

test('embeddings count', async () => {
  const { id, key } = await client.newKey({});
  for (const path of ['/v1/embeddings', `/${WORKSPACE}/v1/embeddings`]) {
    const response = await client.ask('embed', {
      key,
      path,
      body: { input: ['a', 'b'], messages: undefined },
    });
    expectStatusOf(response, 200);
    await response.text();
  }
  const account = await accountsOf(id, 2);
  expect(account).toMatchObject({ requests: 2, completion_tokens: 0 });
  expect(account.prompt_tokens).toBeGreaterThan(0);
});

describe('the sums', () => {
  test('of every grouping are the same, and their total', async () => {
    await (await client.ask('ok')).text();
    await client.usageOf(1);
    const groupings = ['model', 'target', 'key', 'person', 'endpoint', 'outcome', 'hour', 'day'];
    // Accounts of earlier requests may still come between two of them.
    const found = await eventually('the same requests in every grouping', async () => {
      const each = await Promise.all(groupings.map((by) => client.usage({ group_by: by })));
      return new Set(each.map(({ total }) => total.requests)).size === 1 && each;
    });
    for (const { items, total } of found) {
      expect(total).toEqual(found[0]?.total as typeof total);
      expect(items.reduce((sum, { requests }) => sum + requests, 0)).toBe(total.requests);
      expect(items.reduce((sum, { total_tokens }) => sum + total_tokens, 0)).toBe(total.total_tokens);
      expect(items.reduce((sum, { errors }) => sum + errors, 0)).toBe(total.errors);
    }
  });

  test('are the same from whole days and from hours', async () => {
    await (await client.ask('ok')).text();
    await client.usageOf(1);
    const today = Math.floor(Date.now() / 86_400_000) * 86_400_000;
    const at = (ms: number): string => new Date(ms).toISOString();
    const sums = await eventually('the sums to rest', async () => {
      const ofDays = await client.usage({ from: at(today - 86_400_000), to: at(today + 2 * 86_400_000) });
      const ofHours = await client.usage({ group_by: 'hour', from: at(today - 82_800_000) });
      return ofDays.total.requests === ofHours.total.requests && [ofDays.total, ofHours.total];
    });
    expect(sums[0]).toEqual(sums[1]);
  });

  test('of a person are those of all their keys', async () => {
    for (const name of ['first', 'second']) {
      const made = await client.call('POST', `/admin/api/workspaces/${WORKSPACE}/keys`, {
        key: gateway.key,
        json: { name, scopes: ['models'], user_email: 'grace@example.com' },
      });
      const { key } = bodyOf<{ key: string }>(made, 201);
      await (await client.ask('ok', { key })).text();
      await (await client.ask('failing', { key })).text();
    }
    const person = await eventually('the accounts of both keys', async () => {
      const { items } = await client.usage({ group_by: 'person' });
      const found = items.find(({ group }) => group === 'grace@example.com');
      return found?.requests === 4 && found;
    });
    expect(person).toMatchObject({ requests: 4, errors: 2 });
    expect(person).not.toHaveProperty('key');
  });

  test('have percentiles of the time to the last byte, and to the first event of streams', async () => {
    const { id, key } = await client.newKey({});
    for (let index = 0; index < 3; index++) await (await client.ask('ok', { key })).text();
    const unstreamed = await accountsOf(id, 3);
    expect([unstreamed.first_event_ms, unstreamed.first_event_p50_ms]).toEqual([null, null]);
    // 200 words, 30 ms each: whatever the machine does meanwhile, it takes 6 seconds at least.
    await (await client.ask('trickling', { key, body: { stream: true } })).text();
    const account = await accountsOf(id, 4);
    const {
      latency_p50_ms: p50,
      latency_p95_ms: p95,
      latency_p99_ms: p99,
      first_event_p99_ms: first,
    } = account;
    expect(p95).toBeGreaterThan(6000 / Math.SQRT2);
    expect(p99).toBeGreaterThanOrEqual(p95 ?? 0);
    expect(p50).toBeLessThan(p95 ?? 0);
    expect(first).toBeLessThan(p95 ?? 0);
    expect(first).toBeGreaterThan(0);
  });

  test('are of the window that was asked for', async () => {
    await (await client.ask('ok')).text();
    await client.usageOf(1);
    const hour = (ms: number): string => new Date(Date.now() + ms).toISOString();
    const before = await client.usage({ from: hour(-86_400_000), to: hour(-7_200_000) });
    expect([before.items, before.total.requests]).toEqual([[], 0]);
    expect((await client.usage({ from: hour(-3_600_000), to: hour(0) })).total.requests).toBeGreaterThan(0);
    const { body } = { body: await client.usage({ to: hour(-7_200_000) }) };
    expect(body.total.requests).toBe(0);
  });

  test('name the keys and the people of whom they tell, revoked ones too', async () => {
    const made = await client.call('POST', `/admin/api/workspaces/${WORKSPACE}/keys`, {
      key: gateway.key,
      json: { name: 'reports', scopes: ['models'], user_email: 'ada@example.com' },
    });
    const { id, key, prefix } = bodyOf<{ id: string; key: string; prefix: string }>(made, 201);
    const json = { model: 'echo', messages: [{ role: 'user', content: 'hello' }] };
    expectStatus(await client.call('POST', '/v1/chat/completions', { key, json }), 200);
    expectStatus(
      await client.call('DELETE', `/admin/api/workspaces/${WORKSPACE}/keys/${id}`, { key: gateway.key }),
      204,
    );
    const item = await eventually('the account', async () => {
      const { items } = await client.usage({ group_by: 'key' });
      return items.find(({ group }) => group === id);
    });
    expect(item).toMatchObject({
      requests: 1,
      key: { name: 'reports', prefix, user_email: 'ada@example.com' },
    });
    const [byModel] = (await client.usage({ group_by: 'model' })).items;
    expect(byModel).not.toHaveProperty('key');
  });

  test('are for administrators of the workspace alone', async () => {
    const path = `/admin/api/workspaces/${WORKSPACE}/model-usage`;
    const { key: plain } = await client.newKey({}, ['models']);
    expectRefusal(await client.call('GET', path, { key: plain }), 403);
    expectRefusal(await client.call('GET', path), 401);
    expectRefusal(await client.call('GET', path, { key: 'nobody' }), 401);
    expectStatus(
      await client.call('POST', '/admin/api/workspaces', { key: gateway.key, json: { id: 'elsewhere' } }),
      201,
    );
    const other = bodyOf<{ key: string }>(
      await client.call('POST', '/admin/api/workspaces/elsewhere/keys', {
        key: gateway.key,
        json: { name: 'admin', scopes: ['admin'] },
      }),
      201,
    );
    expectRefusal(await client.call('GET', path, { key: other.key }), 403);
    const theirs = await client.call('GET', '/admin/api/workspaces/elsewhere/model-usage', {
      key: other.key,
    });
    expect(bodyOf<{ total: { requests: number } }>(theirs, 200).total.requests).toBe(0);
  });

  const refused: [query: Record<string, string>, loc: string][] = [
    [{ from: 'yesterday' }, 'from'],
    [{ to: '2026-13-01' }, 'to'],
    [{ to: '0000-01-01' }, 'to'],
    [{ from: '2026-11-02T00:00:00Z', to: '2026-11-01T00:00:00Z' }, 'to'],
    [{ from: '2020-01-01T00:00:00Z', to: '2026-11-01T00:00:00Z' }, 'from'],
    [{ from: '2020-01-01T00:00:00Z' }, 'from'],
    [{ group_by: 'people' }, 'group_by'],
    [{ group_by: '' }, 'group_by'],
    [{ group_by: 'model; drop table model_usage' }, 'group_by'],
    [{ group_by: '__proto__' }, 'group_by'],
  ];
  for (const [query, loc] of refused) {
    test(`are refused for ${new URLSearchParams(query)}`, async () => {
      const answer = await client.call('GET', `/admin/api/workspaces/${WORKSPACE}/model-usage`, {
        key: gateway.key,
        query,
      });
      const { detail } = bodyOf<{ detail: { loc: string[] }[] }>(answer, 422);
      expect(detail[0]?.loc).toEqual(['query', loc]);
    });
  }
});

test('nothing of what was said is kept', async () => {
  const marker = `marker-${crypto.randomUUID()}`;
  await (await client.ask('ok', { body: { messages: [{ role: 'user', content: marker }] } })).text();
  await Bun.sleep(2500);
  expect(JSON.stringify(await client.usage({ group_by: 'target' }))).not.toContain(marker);
  expect(gateway.service.child.output()).not.toContain(marker);
  const found = Bun.spawnSync(['grep', '-rl', marker, gateway.service.dataDir]).stdout.toString();
  expect(found).toBe('');
});
