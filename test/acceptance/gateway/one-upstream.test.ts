// The short way, OPENAI_BASE_URL: one upstream, whose list says neither what its models can do nor all that it has.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { eventually } from '../../support/child.ts';
import { BOOTSTRAP_KEY, type RunningService, startService, WORKSPACE } from '../../support/service.ts';
import { createCaller } from '../support/caller.ts';
import { type Client, createClient, errorOf } from './client.ts';

const LISTED = [
  'text-embedding-3-small',
  'bge-m3',
  'whisper-1',
  'dall-e-3',
  'gpt-4o-audio-preview',
  'gpt-4o-mini',
];
const KNOWN = new Set([...LISTED, 'llama3.2', 'my-vectors', 'silent', 'slow']);

type Asked = { path: string; model: string };

function startUpstream(list: string[] | undefined) {
  const asked: Asked[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname: path } = new URL(request.url);
      if (request.method === 'GET')
        return list === undefined
          ? new Response('404 page not found', { status: 404 })
          : Response.json({ object: 'list', data: list.map((id) => ({ id, object: 'model' })) });
      const { model, stream } = (await request.json()) as { model: string; stream?: boolean };
      asked.push({ path, model });
      if (!KNOWN.has(model))
        return Response.json({ error: { message: `model '${model}' not found` } }, { status: 404 });
      if (model === 'silent') await new Promise(() => undefined);
      if (model === 'slow') await Bun.sleep(2000);
      if (path.endsWith('/embeddings'))
        return Response.json({
          object: 'list',
          model,
          data: [{ object: 'embedding', index: 0, embedding: [1] }],
        });
      if (path.endsWith('/generations')) return Response.json({ created: 1, data: [{ b64_json: 'AA==' }] });
      const choice = { index: 0, finish_reason: 'stop' };
      const message = { role: 'assistant', content: `I am ${model}` };
      if (stream !== true)
        return Response.json({ object: 'chat.completion', model, choices: [{ ...choice, message }] });
      const chunk = JSON.stringify({ model, choices: [{ ...choice, delta: message }] });
      return new Response(`data: ${chunk}\n\ndata: [DONE]\n\n`, {
        headers: { 'content-type': 'Text/Event-Stream; charset=UTF-8' },
      });
    },
  });
  return { url: `http://127.0.0.1:${server.port}/v1`, asked, [Symbol.asyncDispose]: () => server.stop(true) };
}

let upstream: ReturnType<typeof startUpstream>;
let service: RunningService;
let client: Client;
beforeAll(async () => {
  upstream = startUpstream(LISTED);
  service = await startService({
    environment: {
      OPENAI_BASE_URL: upstream.url,
      OPENAI_TIMEOUT_MS: '4000',
      OPENAI_IDLE_TIMEOUT_MS: '700',
      GATEWAY_BODY_BYTES_MAX: '2MB',
    },
  });
  client = createClient({ url: service.url, key: BOOTSTRAP_KEY });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

const embed = (model: string, path = '/v1/embeddings'): Promise<Response> =>
  client.ask(model, { path, body: { input: ['a'], messages: undefined } });

describe('what a listed model can do is told by its name', () => {
  test('in the list', async () => {
    const headers = { authorization: `Bearer ${BOOTSTRAP_KEY}` };
    const response = await fetch(`${service.url}/v1/models`, { headers });
    const { data } = (await response.json()) as { data: { id: string; endpoints: string[] }[] };
    expect(Object.fromEntries(data.map(({ id, endpoints }) => [id, endpoints]))).toEqual({
      'text-embedding-3-small': ['embeddings'],
      'bge-m3': ['embeddings'],
      'whisper-1': [],
      'dall-e-3': ['images'],
      'gpt-4o-audio-preview': ['chat', 'completions'],
      'gpt-4o-mini': ['chat', 'completions'],
      'local-multilingual-e1': ['embeddings'],
    });
  });

  test('conversations take a model of conversations', async () => {
    const call = createCaller(service.url);
    const headers = { 'svc-key': BOOTSTRAP_KEY };
    const path = `/api/v1/chat/messages`;
    const channel = `${WORKSPACE}/web/widget/1`;
    const session = { persona_id: 0, agi_id: 'any', channel_session_id: 'one' };
    await call('POST', `${path}/create-chat-session/${channel}`, { headers, json: session });
    const message = { message: 'hi', channel_user_message_id: 'u', channel_assistant_message_id: 'a' };
    const sent = await call('POST', `${path}/send-message/${channel}/bychannelsession/one`, {
      headers,
      json: message,
    });
    expect(JSON.parse(sent.text)).toMatchObject({ answer: 'I am gpt-4o-mini' });
  });

  test('one of embeddings is not asked for a conversation', async () => {
    for (const model of ['bge-m3', 'nomic-embed-text', 'whisper-1']) {
      expect(await errorOf(await client.ask(model))).toMatchObject({ status: 400, param: 'model' });
      expect(upstream.asked).not.toContainEqual({ path: '/v1/chat/completions', model });
    }
  });

  test('the upstream decides about the rest', async () => {
    expect((await embed('gpt-4o-mini')).status).toBe(200);
    const body = { prompt: 'a', messages: undefined };
    expect((await client.ask('gpt-4o-mini', { path: '/v1/images/generations', body })).status).toBe(200);
  });
});

describe('a model that the list does not name', () => {
  test('is asked', async () => {
    for (const stream of [false, true]) {
      const response = await client.ask('llama3.2', { body: { stream } });
      expect(response.headers.get('atrium-model-target')).toBe('openai/llama3.2');
      expect(await response.text()).toContain('I am llama3.2');
    }
    expect((await embed('my-vectors')).status).toBe(200);
    expect((await embed('my-vectors', `/${WORKSPACE}/v1/embeddings`)).status).toBe(200);
  });

  test('and is not there either is 404, or 422, and names those that are listed', async () => {
    const error = await errorOf(await client.ask('no-such-model'));
    expect(error.status).toBe(404);
    expect(error.message).toContain("model 'no-such-model' not found");
    for (const name of LISTED) expect(error.message).toContain(name);
    const response = await embed('no-such-vectors', `/${WORKSPACE}/v1/embeddings`);
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ detail: [{ type: 'enum', loc: ['body', 'model'] }] });
  });

  test('has an account of its own only once it has answered', async () => {
    const { key } = await client.newKey({});
    await client.ask('llama3.2', { key });
    for (const name of ['made-up-1', 'made-up-2']) await client.ask(name, { key });
    const models = await eventually('the accounts', async () => {
      const found = await client.usageOf(3, { group_by: 'model' });
      return found.has('unlisted') && found.has('llama3.2') && found;
    });
    expect([...models.keys()].filter((name) => name.startsWith('made-up'))).toEqual([]);
    expect(await (await fetch(`${service.url}/metrics`)).text()).not.toMatch(/made-up|llama3/);
  });

  test('is ours where its name is built in, and none where it is no name', async () => {
    for (const name of ['local-echo', 'a b', 'x'.repeat(300)])
      expect((await errorOf(await client.ask(name))).status).toBe(404);
    expect(upstream.asked.filter(({ model }) => ['local-echo', 'a b'].includes(model))).toEqual([]);
  });

  test('is asked also where the upstream has no list', async () => {
    await using bare = startUpstream(undefined);
    await using other = await startService({ environment: { OPENAI_BASE_URL: bare.url } });
    const response = await createClient({ url: other.url, key: BOOTSTRAP_KEY }).ask('llama3.2');
    expect(response.status).toBe(200);
  });
});

test('the largest request is a setting', async () => {
  const send = (size: number): Promise<Response> =>
    client.ask('gpt-4o-mini', { body: { user: 'u'.repeat(size) } });
  expect((await send(1_999_000)).status).toBe(200);
  expect(await errorOf(await send(2_000_000))).toMatchObject({ status: 413, code: 'request_too_large' });
});

describe('time-outs', () => {
  test('a whole answer has the total time, a silent stream the idle time', async () => {
    expect((await client.ask('slow')).status).toBe(200);
    const streamed = await errorOf(await client.ask('silent', { body: { stream: true } }));
    expect(streamed).toMatchObject({ status: 504, code: 'upstream_first_byte_timeout' });
    const whole = await errorOf(await client.ask('silent'));
    expect(whole).toMatchObject({ status: 504, code: 'upstream_total_timeout' });
  });
});
