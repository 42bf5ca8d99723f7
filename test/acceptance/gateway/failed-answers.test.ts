// Upstreams that fail in a form of their own: a 2xx whose body is an error, and refusals in other shapes than OpenAI's.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { eventually } from '../../support/child.ts';
import { type RunningGateway, startGateway } from '../../support/gateway.ts';
import { createCaller } from '../support/caller.ts';
import { type Client, createClient, errorOf } from './client.ts';

const EVENTS = { headers: { 'content-type': 'text/event-stream' } };
const events = (...data: string[]): Response =>
  new Response(data.map((each) => `data: ${each}\n\n`).join(''), EVENTS);
const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  Response.json(body, { status, headers });

/** Answers of 200 that are none; streamed where the name ends so. */
const FAILURES: Record<string, () => Response> = {
  error: () => json({ error: { message: 'out of memory', type: 'server_error' } }),
  'error-text': () => json({ error: 'out of memory' }),
  'error-object': () => json({ object: 'error', message: 'out of memory', code: 50001 }),
  'error-with-choices': () => json({ error: { message: 'out of memory' }, choices: [] }),
  'choices-null': () => json({ id: 'x', object: 'chat.completion', choices: null }),
  'choices-absent': () => json({ message: 'out of memory' }),
  'choices-failed': () =>
    json({ choices: [{ index: 0, error: { message: 'out of memory' }, message: { content: '' } }] }),
  'error-large': () => json({ id: 'x', pad: 'p'.repeat(200_000), error: { message: 'out of memory' } }),
  'choices-null-large': () => json({ id: 'x', choices: null, pad: 'p'.repeat(200_000) }),
  'error-streamed': () => events('{"error":{"message":"out of memory"}}'),
  'error-object-streamed': () => events('{"object":"error","message":"out of memory"}', '[DONE]'),
  'error-named-streamed': () => new Response('event: error\ndata: {"message":"out of memory"}\n\n', EVENTS),
  'error-named-text-streamed': () => new Response('event: error\ndata: out of memory\n\n', EVENTS),
  'choices-null-streamed': () => events('{"id":"x","choices":null}', '[DONE]'),
  'detail-streamed': () => events('{"detail":"out of memory"}', '[DONE]'),
  'whole-streamed': () => json({ error: { message: 'out of memory' } }),
};
const EMBEDDINGS: Record<string, () => Response> = {
  'vectors-error': () => json({ error: { message: 'out of memory' } }),
  'vectors-null': () => json({ object: 'list', data: null }),
};
const PICTURES: Record<string, () => Response> = {
  'pictures-error': () => json({ created: 1, error: { message: 'out of memory' } }),
  'pictures-null': () => json({ created: 1, data: null }),
};

type Refusal = { answer: () => Response; status: number; message: string; param?: string };
const text = (body: string, status: number, type = 'text/plain'): Response =>
  new Response(body, { status, headers: { 'content-type': type } });
const REFUSALS: Record<string, Refusal> = {
  'refuses-detail-list': {
    answer: () =>
      json({ detail: [{ loc: ['body', 'max_tokens'], msg: 'must be positive', type: 'x' }] }, 422),
    status: 422,
    message: 'max_tokens: must be positive',
    param: 'max_tokens',
  },
  'refuses-detail': { answer: () => json({ detail: 'too long' }, 400), status: 400, message: 'too long' },
  'refuses-object': {
    answer: () => json({ object: 'error', message: 'too long', type: 'BadRequest', code: 400 }, 400),
    status: 400,
    message: 'too long',
  },
  'refuses-array': {
    answer: () => json([{ error: { code: 400, message: 'too long' } }], 400),
    status: 400,
    message: 'too long',
  },
  'refuses-errors': {
    answer: () => json({ errors: [{ message: 'too long' }] }, 413),
    status: 413,
    message: 'too long',
  },
  'refuses-nested': {
    answer: () => json({ error: { error: { msg: 'too long' } } }, 400),
    status: 400,
    message: 'too long',
  },
  'refuses-text': { answer: () => text('too long', 400), status: 400, message: 'too long' },
  'refuses-string': { answer: () => json('too long', 404), status: 404, message: 'too long' },
  'refuses-page': {
    answer: () =>
      text('<html><head><title>413 Too Large</title></head><body>x</body></html>', 413, 'text/html'),
    status: 413,
    message: '413 Too Large',
  },
  'refuses-empty': {
    answer: () => new Response(null, { status: 422 }),
    status: 422,
    message: 'The upstream answered 422',
  },
  'refuses-null': { answer: () => json(null, 400), status: 400, message: 'The upstream answered 400' },
  'refuses-teapot': {
    answer: () => json({ error: null }, 418),
    status: 418,
    message: 'The upstream answered 418',
  },
};

const FINAL: Record<string, () => Response> = {
  'quota-code': () => json({ error: { message: 'no money', code: 'insufficient_quota' } }, 429),
  'quota-type': () => json({ error: { message: 'no money', type: 'insufficient_quota', code: null } }, 429),
  'quota-in-200': () => json({ error: { message: 'no money', code: 'insufficient_quota' } }),
  'should-not-retry': () => json({ error: { message: 'no' } }, 503, { 'x-should-retry': 'false' }),
  'should-not-retry-429': () => json({ error: { message: 'no' } }, 429, { 'x-should-retry': 'false' }),
  'should-not-retry-empty': () => new Response(null, { status: 500, headers: { 'x-should-retry': 'false' } }),
};

const SECRET: Record<string, () => Response> = {
  'key-in-200': () => json({ error: { message: 'Bad key kept-by-admin', code: 'invalid_api_key' } }),
  'key-401-in-200': () => json({ error: { message: 'Bad key kept-by-admin', code: 401 } }),
  'key-400': () =>
    json({ error: { message: 'API key not valid (kept-by-admin)', status: 'INVALID_ARGUMENT' } }, 400),
};

const ANSWER = {
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
};

const sources = { ...FAILURES, ...EMBEDDINGS, ...PICTURES, ...FINAL, ...SECRET };
const asked = new Map<string, number>();
const timesOf = (model: string): number => asked.get(model) ?? 0;
const TEXT = ['chat', 'completions'];
const endpointsOf = (name: string): string[] =>
  name.startsWith('vectors') ? ['embeddings'] : name.startsWith('pictures') ? ['images'] : TEXT;

let upstream: ReturnType<typeof Bun.serve>;
let gateway: RunningGateway;
let client: Client;
beforeAll(async () => {
  upstream = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { model } = (await request.json()) as { model: string };
      asked.set(model, timesOf(model) + 1);
      if (model === 'broken') return new Response(null, { status: 503 });
      const list = { object: 'list', data: [{ index: 0, embedding: [1], b64_json: 'AA' }] };
      if (model.startsWith('good')) return json(model === 'good-list' ? list : ANSWER);
      return (sources[model] ?? REFUSALS[model]?.answer)?.() ?? json({ error: 'no such model' }, 404);
    },
  });
  gateway = await startGateway(() => {
    const base_url = `http://127.0.0.1:${upstream.port}/v1`;
    const price = { input_per_million: 1e6, output_per_million: 1e6 };
    const to = (model: string, kept: string) => [{ upstream: kept, model }];
    const models: Record<string, Record<string, unknown>> = {
      good: { endpoints: TEXT, targets: to('good', 'own') },
      'good-list': { endpoints: ['embeddings', 'images'], targets: to('good-list', 'own') },
      // Messages of Anthropic's have no words for several choices.
      unable: { endpoints: ['chat'], targets: to('unable', 'anthropic') },
      'backed-unable': { endpoints: ['chat'], targets: to('broken', 'own'), fallbacks: ['unable'] },
      'backed-local': { endpoints: ['chat'], targets: to('broken', 'own'), fallbacks: ['local-echo'] },
      'backed-refused': { endpoints: ['chat'], targets: to('broken', 'own'), fallbacks: ['refuses-detail'] },
      'backed-misconfigured': {
        endpoints: ['chat'],
        targets: to('broken', 'own'),
        fallbacks: ['key-400', 'good'],
      },
      'mixed-first': {
        endpoints: ['chat'],
        targets: [
          { upstream: 'anthropic', model: 'unable', weight: 1 },
          { upstream: 'own', model: 'good', weight: 0 },
        ],
      },
      'only-unable': {
        endpoints: ['chat'],
        targets: [
          { upstream: 'anthropic', model: 'unable', weight: 1 },
          { upstream: 'anthropic', model: 'unable-too', weight: 1 },
        ],
      },
    };
    for (const name of [...Object.keys(sources), ...Object.keys(REFUSALS)]) {
      const endpoints = endpointsOf(name);
      models[name] = { endpoints, targets: to(name, 'own'), price };
      const fallbacks = [endpoints === TEXT || endpoints.includes('chat') ? 'good' : 'good-list'];
      models[`backed/${name}`] = { endpoints, targets: to(name, 'own'), fallbacks, price };
    }
    return {
      upstreams: {
        own: { base_url, retries: 1, api_key: 'kept-by-admin' },
        anthropic: { kind: 'anthropic', base_url, retries: 0 },
      },
      models,
    };
  });
  client = createClient(gateway);
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await upstream.stop(true);
});

const ask = (model: string, named = model, body: Record<string, unknown> = {}): Promise<Response> => {
  const stream = named.endsWith('-streamed');
  if (named.startsWith('vectors'))
    return client.ask(model, { path: '/v1/embeddings', body: { input: 'a', messages: undefined, ...body } });
  if (named.startsWith('pictures'))
    return client.ask(model, {
      path: '/v1/images/generations',
      body: { prompt: 'a', messages: undefined, ...body },
    });
  return client.ask(model, { body: { stream, ...body } });
};

describe('a 200 whose body is a failure', () => {
  for (const name of [...Object.keys(FAILURES), ...Object.keys(EMBEDDINGS), ...Object.keys(PICTURES)]) {
    test(`is tried again, and then told: ${name}`, async () => {
      const error = await errorOf(await ask(name));
      expect(error).toMatchObject({ status: 502 });
      if (!/null|large/.test(name)) expect(error.message).toBe('out of memory');
      expect(timesOf(name)).toBe(2);
    });

    test(`is replaced by a fallback: ${name}`, async () => {
      const response = await ask(`backed/${name}`, name);
      expect(response.status).toBe(200);
      expect(/hello|embedding/.test(await response.text())).toBe(true);
    });
  }

  test('is also no text that is completed', async () => {
    const body = { prompt: 'a', messages: undefined };
    expect((await client.ask('error', { path: '/v1/completions', body })).status).toBe(502);
    const streamed = { ...body, stream: true };
    expect(
      (await client.ask('error-object-streamed', { path: '/v1/completions', body: streamed })).status,
    ).toBe(502);
  });

  test('is not charged', async () => {
    const { id, key } = await client.newKey({});
    for (const model of ['error', 'choices-null', 'error-object-streamed', 'vectors-null', 'pictures-null']) {
      const path = model.startsWith('vectors') ? '/v1/embeddings' : '/v1/images/generations';
      const other = endpointsOf(model) !== TEXT && !endpointsOf(model).includes('chat');
      const body = other
        ? { input: 'a', prompt: 'a', messages: undefined }
        : { stream: model.endsWith('streamed') };
      const response = await client.ask(model, { key, body, ...(other ? { path } : {}) });
      expect([model, response.status]).toEqual([model, 502]);
      await response.text();
    }
    const account = await eventually('the accounts', async () =>
      (await client.usage({ group_by: 'key' })).items.find(
        ({ group, requests }) => group === id && requests === 5,
      ),
    );
    expect(account).toMatchObject({ errors: 5, total_tokens: 0, cost: 0 });
  });

  test('fails a conversation', async () => {
    const call = createCaller(gateway.url);
    const send = async (model: string): Promise<number> => {
      const { key } = gateway;
      await call('PUT', `/admin/api/workspaces/acme/agents/${model}`, {
        key,
        json: { name: model, kind: 'persona', model, instructions: 'a' },
      });
      const path = `acme/web/widget/1`;
      const headers = { 'svc-key': key };
      const session = { persona_id: 0, agi_id: model, channel_session_id: model };
      await call('POST', `/api/v1/chat/messages/create-chat-session/${path}`, { headers, json: session });
      const message = { message: 'hi', channel_user_message_id: 'u', channel_assistant_message_id: 'a' };
      const sent = `/api/v1/chat/messages/send-message/${path}/bychannelsession/${model}`;
      return (await call('POST', sent, { headers, json: message })).status;
    };
    expect(await send('error-object-streamed')).toBe(502);
    expect(await send('choices-null-streamed')).toBe(502);
    expect(await send('good')).toBe(200);
  });

  for (const name of Object.keys(SECRET))
    test(`that refuses the service's key is not shown: ${name}`, async () => {
      const response = await ask(name);
      const error = await response.clone().text();
      expect(await errorOf(response)).toMatchObject({ status: 502, code: 'upstream_credentials' });
      expect(error).not.toMatch(/bad key|not valid/i);
    });
});

describe('a refusal in another shape', () => {
  for (const [name, { status, message, param }] of Object.entries(REFUSALS))
    test(`keeps its status and its sentence: ${name}`, async () => {
      // More often than a circuit takes.
      for (let times = 0; times < 6; times++) {
        const error = await errorOf(await ask(name));
        expect(error).toMatchObject({ status, message, param: param ?? null });
        expect(error.type).toBeString();
      }
      expect(timesOf(name)).toBe(6);
      expect(await (await fetch(`${gateway.url}/metrics`)).text()).toContain(
        `atrium_model_circuit_open{target="own/${name}"} 0`,
      );
    });
});

describe('a failure that another attempt cannot mend', () => {
  for (const name of Object.keys(FINAL)) {
    test(`is not tried again: ${name}`, async () => {
      const response = await ask(name);
      expect([429, 502, 503]).toContain(response.status);
      expect(timesOf(name)).toBe(1);
      if (name.startsWith('should-not-retry') && !name.endsWith('empty'))
        expect(response.headers.get('x-should-retry')).toBe('false');
    });

    test(`is replaced by a fallback: ${name}`, async () => {
      expect((await ask(`backed/${name}`, name)).status).toBe(200);
    });
  }
});

describe('a target that cannot answer the request', () => {
  const several = { n: 2 };
  test('leaves the failure of the first to be told', async () => {
    const response = await ask('backed-unable', 'x', several);
    expect(response.headers.get('atrium-model-target')).toBe('own/broken');
    expect(response.status).toBe(502);
    expect(await (await ask('backed-unable', 'x', several)).text()).toContain('503');
    expect(await errorOf(await ask('backed-local', 'x', { logprobs: true }))).toMatchObject({ status: 502 });
    expect(await errorOf(await ask('backed-refused'))).toMatchObject({ status: 502 });
  });

  test('is passed over for one that can', async () => {
    for (const stream of [false, true]) {
      const response = await ask('mixed-first', 'x', { ...several, stream });
      expect(response.status).toBe(200);
      expect(await response.text()).toContain('hello');
      expect((await ask('backed-misconfigured', 'x', { stream })).status).toBe(200);
    }
    expect((await ask('backed-local')).status).toBe(200);
  });

  test('is told where there is no other', async () => {
    expect(await errorOf(await ask('only-unable', 'x', several))).toMatchObject({ status: 400, param: 'n' });
    expect(await errorOf(await ask('unable', 'x', several))).toMatchObject({ status: 400, param: 'n' });
  });
});
