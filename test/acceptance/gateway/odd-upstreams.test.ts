// Upstreams that speak the wire in ways of their own.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { eventually } from '../../support/child.ts';
import { type RunningGateway, startGateway } from '../../support/gateway.ts';
import { type Client, createClient, errorOf } from './client.ts';

const PICTURE = 'A'.repeat(400_000);

/** An upstream of the test's own: the model's name says what it does. */
const ANSWERS: Record<string, () => Response> = {
  'comments-then-error': () =>
    stream(': PROCESSING\n\n', ': PROCESSING\n\n', 'data: {"error":{"message":"none left"}}\n\n'),
  'comments-with-an-error': () => stream(': PROCESSING\n\ndata: {"error":{"message":"none left"}}\n\n'),
  'comments-then-nothing': () => stream(': PROCESSING\n\n', ': PROCESSING\n\n'),
  'no-message': () => Response.json({ object: 'chat.completion', choices: [{ index: 0 }, null] }),
  'large-nonsense': () => new Response(`{"x":"${'a'.repeat(300_000)}" nonsense }`, { headers: JSON_TYPE }),
  picture: () => Response.json({ created: 1, data: [{ b64_json: PICTURE }] }),
  'no-vectors': () => Response.json({ object: 'list' }),
  'too-few-vectors': () => Response.json({ object: 'list', data: [{ index: 0, embedding: [1] }] }),
  'vectors-streamed': () => stream('data: {"object":"list"}\n\n', 'data: [DONE]\n\n'),
  'vectors-elsewhere': () =>
    Response.json({
      object: 'list',
      data: [
        { index: 1e9, embedding: [1] },
        { index: -1, embedding: [1] },
      ],
    }),
};

const JSON_TYPE = { 'content-type': 'application/json' };

function stream(...texts: string[]): Response {
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      for (const text of texts) {
        await Bun.sleep(20);
        controller.enqueue(Buffer.from(text));
      }
      controller.close();
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

let upstream: ReturnType<typeof Bun.serve>;
let gateway: RunningGateway;
let client: Client;
beforeAll(async () => {
  upstream = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { model } = (await request.json()) as { model: string };
      return ANSWERS[model]?.() ?? Response.json({ error: { message: 'no such model' } }, { status: 404 });
    },
  });
  gateway = await startGateway((mockUrl) => ({
    upstreams: {
      odd: { base_url: `http://127.0.0.1:${upstream.port}/v1`, retries: 0, embedding_inputs_max: 2 },
      mock: { base_url: `${mockUrl}/v1`, retries: 0 },
    },
    models: {
      ok: { targets: [{ upstream: 'mock', model: 'ok' }] },
      ...Object.fromEntries(
        Object.keys(ANSWERS).map((name) => {
          const endpoints = name.includes('vectors')
            ? ['embeddings']
            : name === 'picture'
              ? ['images']
              : ['chat', 'completions'];
          const fallbacks = name.startsWith('comments') ? ['ok'] : [];
          return [
            name,
            {
              endpoints,
              fallbacks,
              targets: [{ upstream: 'odd', model: name }],
              price: { output_per_million: 1 },
            },
          ];
        }),
      ),
    },
  }));
  client = createClient(gateway);
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await upstream.stop(true);
});

for (const model of ['comments-then-error', 'comments-with-an-error', 'comments-then-nothing'])
  test(`one that only made comments before it failed is replaced: ${model}`, async () => {
    const response = await client.ask(model, { body: { stream: true } });
    const text = await response.text();
    expect(text).not.toContain('"error"');
    expect(text).toEndWith('data: [DONE]\n\n');
  });

test('an answer without a message can be streamed', async () => {
  const response = await client.ask('no-message', { body: { stream: true } });
  expect(response.status).toBe(200);
  expect(await response.text()).toEndWith('data: [DONE]\n\n');
});

test('a large answer that is no JSON is the upstream’s fault', async () => {
  const response = await client.ask('large-nonsense', { body: { stream: true } });
  expect((await errorOf(response)).status).toBe(502);
});

for (const model of ['no-vectors', 'too-few-vectors', 'vectors-elsewhere'])
  test(`parts of a batch that are none are the upstream’s fault: ${model}`, async () => {
    const body = { input: ['a', 'b', 'c', 'd', 'e'], messages: undefined };
    const response = await client.ask(model, { path: '/v1/embeddings', body });
    expect(await errorOf(response)).toMatchObject({ status: 502, code: 'upstream_failed' });
  });

test('parts of a batch that are streams are the upstream’s fault', async () => {
  const body = { input: ['a', 'b', 'c', 'd', 'e'], messages: undefined, stream: true };
  const response = await client.ask('vectors-streamed', { path: '/v1/embeddings', body });
  expect(await errorOf(response)).toMatchObject({ status: 502 });
});

test('the bytes of a picture are no tokens: a picture without a price counts as it was reserved', async () => {
  const { id, key } = await client.newKey({});
  const response = await client.ask('picture', {
    key,
    path: '/v1/images/generations',
    body: { prompt: 'a cat', messages: undefined },
  });
  expect(response.status).toBe(200);
  await response.text();
  const account = await eventually('the account', async () =>
    (await client.usage({ group_by: 'key' })).items.find(({ group }) => group === id),
  );
  expect(account).toMatchObject({ requests: 1, completion_tokens: 1000, estimated: 1 });
});
