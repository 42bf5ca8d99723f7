// Keys of the gateway: who may ask, how often, for how much.

import { describe, expect, test } from 'bun:test';
import { eventually, freePort } from '../../support/child.ts';
import { testDatabase } from '../../support/database.ts';
import { pricedModels, startGateway } from '../../support/gateway.ts';
import { startService, WORKSPACE } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';
import { type Client, createClient, errorOf } from './client.ts';

const gateway = await shared(startGateway(pricedModels));
const client = createClient(gateway);

/** The answers to so many questions, one after the other. */
async function askTimes(times: number, key: string, asking: Client = client): Promise<Response[]> {
  const answers: Response[] = [];
  for (let index = 0; index < times; index++) {
    const response = await asking.ask('ok', { key });
    if (response.status === 200) await response.text();
    answers.push(response);
  }
  return answers;
}

describe('requests a minute', () => {
  test('are so many and not one more; headers tell it', async () => {
    const { key } = await client.newKey({ requests_per_minute: 5 });
    const startedAt = performance.now();
    const passedMs = (): number => performance.now() - startedAt;
    // One more may be asked every twelve seconds from the first one on.
    const moreMax = (): number => Math.floor(passedMs() / 12_000);
    let answered = 0;
    let response = await client.ask('ok', { key });
    for (; response.status === 200; response = await client.ask('ok', { key })) {
      answered += 1;
      const left = Number(response.headers.get('x-ratelimit-remaining-requests'));
      expect(left).toBeWithin(Math.max(0, 5 - answered), 5 - answered + moreMax() + 1);
      expect(response.headers.get('x-ratelimit-limit-requests')).toBe('5');
      await response.text();
    }
    expect(answered).toBeWithin(5, 5 + moreMax() + 1);
    expect(response.headers.get('x-ratelimit-limit-requests')).toBe('5');
    const waitMs = Number(response.headers.get('retry-after-ms'));
    expect(waitMs).toBeWithin(12_000 * (answered - 4) - passedMs(), 12_001);
    expect(response.headers.get('retry-after')).toBe(String(Math.max(1, Math.ceil(waitMs / 1000))));
    expect(await errorOf(response)).toMatchObject({
      status: 429,
      code: 'rate_limit_exceeded',
      type: 'requests',
    });
  });

  test('count streams, embeddings and all at once, too', async () => {
    const { key } = await client.newKey({ requests_per_minute: 3 });
    const startedAt = performance.now();
    const body = { stream: true };
    const input = { input: ['a'], messages: undefined };
    const all = await Promise.all([
      ...Array.from({ length: 4 }, () => client.ask('ok', { key, body })),
      ...Array.from({ length: 4 }, () => client.ask('embed', { key, path: '/v1/embeddings', body: input })),
      ...Array.from({ length: 4 }, () =>
        client.ask('embed', { key, path: `/${WORKSPACE}/v1/embeddings`, body: input }),
      ),
    ]);
    // One more may be asked every twenty seconds from the first one on.
    const moreMax = Math.floor((performance.now() - startedAt) / 20_000);
    const answered = all.filter(({ status }) => status === 200).length;
    expect(answered).toBeWithin(3, 3 + moreMax + 1);
    expect(all.filter(({ status }) => status === 429)).toHaveLength(12 - answered);
    for (const response of all) await response.text();
  });

  test('do not count what is refused before', async () => {
    const { key } = await client.newKey({ requests_per_minute: 1 });
    for (let index = 0; index < 5; index++) {
      expect((await client.ask('nobody', { key })).status).toBe(404);
      expect((await client.ask('embed', { key })).status).toBe(400);
    }
    expect((await client.ask('ok', { key })).status).toBe(200);
  });
});

test('tokens a minute: what was used counts afterwards', async () => {
  const { key } = await client.newKey({ tokens_per_minute: 10 });
  const first = await client.ask('ok', {
    key,
    body: { messages: [{ role: 'user', content: 'a '.repeat(50) }] },
  });
  expect(first.status).toBe(200);
  expect(first.headers.get('x-ratelimit-limit-tokens')).toBe('10');
  await first.text();
  const second = await client.ask('ok', { key });
  expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(60);
  expect(await errorOf(second)).toMatchObject({ status: 429, code: 'rate_limit_exceeded', type: 'tokens' });
});

test('tokens of a stream that was left count, too', async () => {
  const { key } = await client.newKey({ tokens_per_minute: 5 });
  const leaving = new AbortController();
  const stream = await client.ask('trickle', { key, body: { stream: true }, signal: leaving.signal });
  const reader = stream.body?.getReader();
  for (let index = 0; index < 8; index++) await reader?.read();
  leaving.abort();
  await eventually('the tokens to count', async () => (await client.ask('ok', { key })).status === 429);
});

test('a budget that is used up is told as OpenAI does, and SDKs do not try again', async () => {
  const { key } = await client.newKey({ budget_per_month: 1 });
  const [first, second] = await askTimes(2, key);
  expect(first?.status).toBe(200);
  expect(second?.headers.get('x-should-retry')).toBe('false');
  expect(await errorOf(second as Response)).toMatchObject({
    status: 429,
    code: 'insufficient_quota',
    type: 'insufficient_quota',
  });
});

test('limits outlive a restart', async () => {
  await using database = await testDatabase();
  const environment = { DATABASE_URL: database.url };
  await using own = await startGateway(pricedModels, environment);
  const before = createClient(own);
  // What is used at once is more than a minute gives back, by far, or than a month does.
  const keys = [await before.newKey({ tokens_per_minute: 1 }), await before.newKey({ budget_per_month: 1 })];
  for (const { key } of keys)
    expect((await askTimes(2, key, before)).map(({ status }) => status)).toEqual([200, 429]);
  await eventually('what was used to be told', async () => {
    const told = await database.sql`
      SELECT FROM model_allowances WHERE spent > 1 AND key_id IN ${database.sql(keys.map(({ id }) => id))}`;
    return told.length === keys.length;
  });
  own.service.child.kill('SIGKILL');
  await own.service.child.exited;
  const path = `${own.service.dataDir}/models.json`;
  await Bun.write(path, JSON.stringify(pricedModels(own.mock.url)));
  await using again = await startService({
    dataDir: own.service.dataDir,
    environment: { ...environment, MODELS_CONFIG: path },
  });
  const after = createClient({ url: again.url, key: own.key });
  for (const { key } of keys)
    expect((await askTimes(1, key, after)).map(({ status }) => status)).toEqual([429]);
});

test('two processes share them', async () => {
  await using own = await startGateway(pricedModels, { PROCESSES: '2', PORT: String(freePort()) });
  const asking = createClient(own);
  const { key } = await asking.newKey({ requests_per_minute: 30 });
  let answered = 0;
  const startedAt = performance.now();
  const refilled = (): number => ((performance.now() - startedAt) / 60_000) * 30;
  const readLeft = async (): Promise<number> => {
    const headers = { authorization: `Bearer ${key}`, connection: 'close' };
    const { remaining } = (await (await fetch(`${own.url}/v1/me`, { headers })).json()) as {
      remaining: { requests_per_minute: { remaining: number } };
    };
    return remaining.requests_per_minute.remaining;
  };
  /** Whether each process knows what both have let through. */
  const isShared = async (): Promise<boolean> => {
    const left = await Promise.all(Array.from({ length: 8 }, readLeft));
    return Math.max(...left) <= Math.max(0, 30 - answered) + refilled() + 1;
  };
  for (let round = 0; round < 12; round++) {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => asking.ask('ok', { key, headers: { connection: 'close' } })),
    );
    answered += answers.filter(({ status }) => status === 200).length;
    for (const response of answers) await response.text();
    await eventually(`the use of round ${round} to be shared`, isShared);
  }
  expect(answered).toBeGreaterThanOrEqual(30);
  // Between two tellings, the processes may let through what the other has used: half of a round.
  expect(answered).toBeLessThanOrEqual(30 + refilled() + 8);
});

describe('who may ask', () => {
  const CALLS = [
    ['/v1/chat/completions', 'ok'],
    ['/chat/completions', 'ok'],
    ['/v1/completions', 'ok'],
    ['/v1/embeddings', 'embed'],
    [`/${WORKSPACE}/v1/embeddings`, 'embed'],
    ['/v1/images/generations', 'ok'],
  ] as const;

  test('a key without the scope gets 403 in OpenAI’s shape', async () => {
    const { key } = await client.newKey({}, ['documents:read']);
    for (const [path, model] of CALLS)
      expect(await errorOf(await client.ask(model, { key, path }))).toMatchObject({
        status: 403,
        code: 'insufficient_permissions',
        type: 'invalid_request_error',
        param: null,
      });
    const list = await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    expect((await errorOf(list)).status).toBe(403);
  });

  test('an unknown key gets 401, though none is needed', async () => {
    for (const [path, model] of CALLS)
      expect(await errorOf(await client.ask(model, { key: 'sk-nobody', path }))).toMatchObject({
        status: 401,
        code: 'invalid_api_key',
      });
  });

  test('a revoked key gets 401 at once', async () => {
    const { id, key } = await client.newKey({});
    expect((await client.ask('ok', { key })).status).toBe(200);
    await client.call('DELETE', `/admin/api/workspaces/${WORKSPACE}/keys/${id}`, { key: gateway.key });
    expect((await client.ask('ok', { key })).status).toBe(401);
  });
});
