// What is accounted of a request, however it ended, and the limits that are drawn from it.

import { describe, expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { type ModelsFile, startGateway } from '../support/gateway.ts';
import { WORKSPACE } from '../support/service.ts';
import { shared } from '../support/shared.ts';
import { send } from './faults/ask.ts';

const PRICE = { input_per_million: 1_000_000, output_per_million: 2_000_000 };
const ENDS = { answered: 'ok', streamed: 'ok', refused: 'status-400', broken: 'status-500', cut: 'die-mid' };
const LEFT = { early: 'hang', midway: 'hang-mid' };

const modelsFile = (mockUrl: string): ModelsFile => ({
  upstreams: { mock: { base_url: `${mockUrl}/v1`, retries: 0 } },
  models: Object.fromEntries(
    Object.entries({ ...ENDS, ...LEFT, limited: 'ok' }).map(([name, model]) => [
      name,
      { targets: [{ upstream: 'mock', model }], price: PRICE },
    ]),
  ),
});

const gateway = await shared(startGateway(modelsFile));

const administer = (path: string, json?: object): Promise<Response> =>
  fetch(`${gateway.url}/admin/api/workspaces/${WORKSPACE}${path}`, {
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    ...(json === undefined ? {} : { method: 'POST', body: JSON.stringify(json) }),
  });

type Sums = {
  group: string;
  requests: number;
  estimated: number;
  prompt_tokens: number;
  completion_tokens: number;
  cost: number;
};

const usageBy = async (grouping: string): Promise<Map<string, Sums>> => {
  const response = await administer(`/model-usage?group_by=${grouping}`);
  const { items } = (await response.json()) as { items: Sums[] };
  return new Map(items.map((each) => [each.group, each]));
};

test('every end of a request is in the account, once, with its tokens', async () => {
  const { url, key, mock } = gateway;
  for (const model of Object.keys(ENDS)) {
    const response = await send({ url, key, model, stream: model === 'streamed' || model === 'cut' });
    await response.text();
  }
  for (const [model, upstreamModel] of Object.entries(LEFT)) {
    const controller = new AbortController();
    const { signal } = controller;
    const sent = send({ url, key, model, stream: true, signal }).then((response) => response.text());
    await eventually('the request to run', async () => (await mock.state(upstreamModel)).running === 1);
    await Bun.sleep(100);
    controller.abort();
    await sent.catch(() => undefined);
  }
  const models = [...Object.keys(ENDS), ...Object.keys(LEFT)];
  const accounts = await eventually('all accounts', async () => {
    const found = await usageBy('model');
    return models.every((model) => found.has(model)) ? found : undefined;
  });
  for (const model of models) expect([model, accounts.get(model)?.requests]).toEqual([model, 1]);
  const answered = accounts.get('answered');
  const { prompt_tokens = 0, completion_tokens = 0, estimated, cost } = answered ?? {};
  expect({ estimated, cost }).toEqual({ estimated: 0, cost: prompt_tokens + 2 * completion_tokens });
  expect(completion_tokens).toBeGreaterThan(0);
  expect(accounts.get('streamed')).toMatchObject({ prompt_tokens, completion_tokens, estimated: 0, cost });
  for (const model of Object.keys(LEFT)) {
    expect(accounts.get(model)?.estimated).toBe(1);
    expect(accounts.get(model)?.prompt_tokens).toBeGreaterThan(0);
  }
  expect((await usageBy('outcome')).get('cancelled')?.requests).toBe(2);
});

describe('a key', () => {
  const newKey = async (limits: object): Promise<string> => {
    const json = { name: 'limited', scopes: ['models'], user_email: 'limited@example.com', limits };
    const response = await administer('/keys', json);
    expect(response.status).toBe(201);
    return ((await response.json()) as { key: string }).key;
  };
  const ask = (key: string): Promise<Response> =>
    send({ url: gateway.url, key, model: 'limited', stream: false });
  type Refusal = { error: { code: string } };

  test('has its requests a minute', async () => {
    const key = await newKey({ requests_per_minute: 2 });
    const allowed = [await ask(key), await ask(key)];
    const refused = await ask(key);
    const answers = [...allowed, refused];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers.map(({ headers }) => headers.get('x-ratelimit-limit-requests'))).toEqual(['2', '2', '2']);
    expect(answers[0]?.headers.get('x-ratelimit-remaining-requests')).toBe('1');
    expect(Number(refused.headers.get('retry-after'))).toBeWithin(1, 61);
    expect(((await refused.json()) as Refusal).error.code).toBe('rate_limit_exceeded');
  });

  test('has its tokens a minute, and may overdraw them once', async () => {
    const key = await newKey({ tokens_per_minute: 5 });
    expect((await ask(key)).status).toBe(200);
    const refused = await ask(key);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test('has its budget a month', async () => {
    const key = await newKey({ budget_per_month: 1 });
    expect((await ask(key)).status).toBe(200);
    const refused = await ask(key);
    expect(refused.status).toBe(429);
    expect(((await refused.json()) as Refusal).error.code).toBe('insufficient_quota');
  });
});
