// What an upstream takes at once: requests, and texts of a batch.

import { afterAll, describe, expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { type ModelsFile, startGateway } from '../support/gateway.ts';
import { vectorOf } from '../support/mock-upstream/openai-others.ts';
import { shared } from '../support/shared.ts';
import { send } from './faults/ask.ts';

const BATCH_MAX = 4;

const modelsFile = (mockUrl: string): ModelsFile => ({
  upstreams: {
    narrow: { base_url: `${mockUrl}/v1`, concurrency: { max: 2, queue: 1 } },
    short: { base_url: `${mockUrl}/v1`, embedding_inputs_max: BATCH_MAX, retries: 0 },
    keeper: { base_url: `http://127.0.0.1:${keeper.port}/v1`, embedding_inputs_max: BATCH_MAX },
  },
  models: {
    narrow: { targets: [{ upstream: 'narrow', model: 'held+key=narrow' }] },
    short: { endpoints: ['embeddings'], targets: [{ upstream: 'short', model: `ok+batch=${BATCH_MAX}` }] },
    kept: { endpoints: ['embeddings'], targets: [{ upstream: 'keeper', model: 'kept' }] },
    failing: {
      endpoints: ['embeddings'],
      targets: [{ upstream: 'short', model: 'status-500+times=1+key=failing' }],
    },
  },
});

/** An upstream that keeps the bodies as they came. */
const asked: string[] = [];
const keeper = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const text = await request.text();
    asked.push(text);
    const { input } = JSON.parse(text.replaceAll('\\x', 'x')) as { input: string[] };
    const data = input.map((_, index) => ({ object: 'embedding', index, embedding: [index] }));
    return Response.json({ object: 'list', data, model: 'm', usage: { prompt_tokens: 1, total_tokens: 1 } });
  },
});
afterAll(() => keeper.stop(true));

const gateway = await shared(startGateway(modelsFile));

test('more requests than an upstream may have wait, and more than may wait are refused at once', async () => {
  const { url, key, mock } = gateway;
  const ask = () => send({ url, key, model: 'narrow', stream: false });
  const inOrder: Response[] = [];
  const asked = Array.from({ length: 4 }, async () => void inOrder.push(await ask()));
  await eventually('the refusal', () => inOrder.length === 1).finally(() => mock.release('narrow'));
  await Promise.all(asked);
  expect(inOrder.map(({ status }) => status)).toEqual([503, 200, 200, 200]);
  expect(Number(inOrder[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
  const { requests, runningMax } = await mock.state('narrow');
  expect({ requests, runningMax }).toEqual({ requests: 3, runningMax: 2 });
});

type Embeddings = {
  data: { index: number; embedding: number[] | string }[];
  usage: { total_tokens: number };
};

describe('a batch that is larger than the upstream takes', () => {
  const texts = Array.from({ length: 10 }, (_, index) => `text number${index}`);
  const embed = (model: string, more: object = {}): Promise<Response> =>
    fetch(`${gateway.url}/v1/embeddings`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, input: texts, ...more }),
    });

  test('is asked for in parts and put together in its order', async () => {
    const response = await embed('short');
    expect(response.status).toBe(200);
    const { data, usage } = (await response.json()) as Embeddings;
    expect(data.map(({ index }) => index)).toEqual(texts.map((_, index) => index));
    expect(data.map(({ embedding }) => embedding)).toEqual(texts.map((text) => vectorOf(text, 8)));
    expect(usage.total_tokens).toBe(20);
    expect((await gateway.mock.state(`ok+batch=${BATCH_MAX}`)).requests).toBe(3);
  });

  test('is the same in base64', async () => {
    const { data } = (await (await embed('short', { encoding_format: 'base64' })).json()) as Embeddings;
    const vectors = data.map(({ embedding }) => {
      const bytes = Uint8Array.from(Buffer.from(String(embedding), 'base64'));
      return [...new Float32Array(bytes.buffer)];
    });
    expect(vectors).toEqual(texts.map((text) => vectorOf(text, 8)));
  });

  for (const [what, count, parts] of [
    ['in one part', 2, 1],
    ['in parts', 10, 3],
  ] as const) {
    test(`goes on ${what} with its other members, no digit of them lost`, async () => {
      asked.length = 0;
      const others = String.raw`"user":"\ud800","ratio":1.1000000000000000000001`;
      const input = JSON.stringify(texts.slice(0, count));
      const response = await fetch(`${gateway.url}/v1/embeddings`, {
        method: 'POST',
        headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
        body: `{"model":"kept","input":${input},${others}}`,
      });
      expect(response.status).toBe(200);
      expect(((await response.json()) as Embeddings).data.length).toBe(count);
      expect(asked.map((body) => body.endsWith(`,${others}}`))).toEqual(Array(parts).fill(true));
    });
  }

  test('is refused with large members besides, which each part would carry', async () => {
    asked.length = 0;
    const response = await embed('kept', { user: 'u'.repeat(65_536) });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { message: "The members besides 'input' are too large", type: 'invalid_request_error' },
    });
    expect(asked).toEqual([]);
    expect((await embed('kept', { user: 'u'.repeat(60_000) })).status).toBe(200);
  });

  test('but is one list of tokens goes on whole', async () => {
    asked.length = 0;
    const body = '{"model":"kept","input":[1,2,3,4,5]}';
    const response = await fetch(`${gateway.url}/v1/embeddings`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
      body,
    });
    expect(response.status).toBe(200);
    expect(asked).toEqual([body]);
  });

  test('fails as a whole when one part fails', async () => {
    const response = await embed('failing');
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ error: { message: expect.any(String) } });
  });
});
