// Models without a key: for programs of this machine alone, never for what a proxy or a browser's page hands on.

import { describe, expect, test } from 'bun:test';
import { freePort } from '../../support/child.ts';
import { startGateway } from '../../support/gateway.ts';
import { BOOTSTRAP_KEY, type RunningService, startService, WORKSPACE } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';
import { bodyOf, createCaller } from '../support/caller.ts';
import { sendRaw } from '../support/raw-request.ts';

const CHAT = { model: 'local-echo', messages: [{ role: 'user', content: 'Good morning' }] };
const EMBEDDING = { model: 'local-multilingual-e1', input: ['Good morning'] };

type Call = [method: string, path: string, body: object | undefined];
const CALLS: Call[] = [
  ['POST', '/v1/chat/completions', CHAT],
  ['POST', '/chat/completions', CHAT],
  ['POST', '/v1/completions', { model: 'local-echo', prompt: 'x' }],
  ['POST', '/v1/embeddings', EMBEDDING],
  ['POST', `/${WORKSPACE}/v1/embeddings`, EMBEDDING],
  ['GET', '/v1/models', undefined],
  ['GET', '/models', undefined],
  ['HEAD', '/v1/models', undefined],
  ['GET', '/v1/models/local-echo', undefined],
];
const JSON_TYPE = 'content-type: application/json';

const service = await shared(startService());
const port = new URL(service.url).port;
const call = createCaller(service.url);
bodyOf(await call('POST', '/admin/api/workspaces', { key: BOOTSTRAP_KEY, json: { id: 'other' } }), 201);

type Asked = { host?: string; headers?: string[]; url?: string };

/** The status of a call whose head is exactly this. */
async function statusOf(
  [method, path, body]: Call,
  { host = `127.0.0.1:${port}`, headers = [JSON_TYPE], url = service.url }: Asked = {},
): Promise<number> {
  const sent = body === undefined ? [] : ['transfer-encoding: chunked', ...headers];
  const answer = await sendRaw(url, {
    head: [
      `${method} ${path} HTTP/1.1`,
      ...(body === undefined ? headers.filter((each) => each !== JSON_TYPE) : sent),
    ],
    ...(body === undefined ? {} : { chunks: [JSON.stringify(body)] }),
    host,
  });
  return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
}

/** What every call answers to a head of this kind. */
async function statusesOf(asked: Asked): Promise<number[]> {
  return [...new Set(await Promise.all(CALLS.map((call) => statusOf(call, asked))))];
}

describe('without a key', () => {
  test.each(['127.0.0.1', '127.200.3.4:1', '[::1]', '[::1]:3000', 'localhost', 'LocalHost:65535'])(
    'a program that calls the service %s is answered',
    async (host) => {
      expect(await statusesOf({ host })).toEqual([200]);
    },
  );

  test.each([
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '128.0.0.1',
    'y',
    '',
    '[::2]',
    '127.0.0.1:80@evil.example',
    'localhost.',
    '0.0.0.0',
    'http://localhost',
  ])('one that calls it %j is refused: a foreign name may lead here', async (host) => {
    expect(await statusesOf({ host })).toEqual([401]);
  });

  test.each([
    'Forwarded: for=192.0.2.1',
    'X-Forwarded-For: 192.0.2.1',
    'X-Forwarded-Proto: https',
    'X-Forwarded-Host: a',
    'x-forwarded-anything: x',
    'X-Real-IP: 192.0.2.1',
    'Via: 1.1 proxy',
    'CF-Connecting-IP: 192.0.2.1',
    'True-Client-IP: 192.0.2.1',
    'X-Client-IP: 192.0.2.1',
  ])('what a proxy has handed on (%s) is refused', async (header) => {
    expect(await statusesOf({ headers: [JSON_TYPE, header] })).toEqual([401]);
  });

  test.each([
    'Origin: http://evil.example',
    'Origin: null',
    'Origin: http://127.0.0.1:1',
    'Origin: ',
    'Origin: x',
  ])("what another origin's page sends (%s) is refused", async (header) => {
    expect(await statusesOf({ headers: [JSON_TYPE, header] })).toEqual([401]);
  });

  test.each(['cross-site', 'same-site', 'x'])('what a browser calls %s is refused', async (site) => {
    expect(await statusesOf({ headers: [JSON_TYPE, `Sec-Fetch-Site: ${site}`] })).toEqual([401]);
  });

  test("the service's own page and an address that is typed are answered", async () => {
    const origin = `Origin: http://127.0.0.1:${port}`;
    expect(await statusesOf({ headers: [JSON_TYPE, origin, 'Sec-Fetch-Site: same-origin'] })).toEqual([200]);
    expect(await statusesOf({ headers: [JSON_TYPE, 'Sec-Fetch-Site: none'] })).toEqual([200]);
  });

  test.each([
    [['content-type: text/plain'], 401],
    [['content-type: application/x-www-form-urlencoded'], 401],
    [['content-type: multipart/form-data; boundary=application/json'], 401],
    [['content-type: text/plain; application/json'], 401],
    [[], 401],
    [['content-type: Application/JSON; charset=utf-8'], 200],
  ])('a body of the type %j is %i: a page may send others without asking', async (headers, status) => {
    const posts = CALLS.filter(([method]) => method === 'POST');
    const found = await Promise.all(posts.map((call) => statusOf(call, { headers })));
    expect([...new Set(found)]).toEqual([status]);
  });

  test('the first workspace alone has models, and others are not told apart from none', async () => {
    for (const workspace of ['other', 'nowhere', 'a%2Fb'])
      expect(await statusOf(['POST', `/${workspace}/v1/embeddings`, EMBEDDING])).toBe(401);
  });

  test('the refusal says what a request without a key must be, in the shape of OpenAI', async () => {
    const answer = await fetch(`${service.url}/v1/chat/completions`, { method: 'POST', body: '{}' });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toStartWith('Bearer ');
    expect(await answer.json()).toMatchObject({
      error: { code: 'invalid_api_key', message: expect.stringContaining('application/json') },
    });
  });
});

test('with a key nothing of this is asked', async () => {
  const headers = [
    `authorization: Bearer ${BOOTSTRAP_KEY}`,
    'X-Forwarded-For: 192.0.2.1',
    'Origin: http://a',
  ];
  expect(await statusesOf({ host: 'models.example', headers: [JSON_TYPE, ...headers] })).toEqual([200]);
});

test('an empty or wrong key is 401, though none is needed', async () => {
  for (const header of ['authorization: ', 'authorization: Bearer sk-nobody', 'APIKeyHeader: '])
    expect(await statusesOf({ headers: [JSON_TYPE, header] })).toEqual([401]);
});

/** Whether models answer this machine without a key, and what the start has said of it. */
async function anonymityOf({
  url,
  child,
}: RunningService): Promise<[status: number, told: string | undefined]> {
  const reachable = url.replace('0.0.0.0', '127.0.0.1');
  const [chat] = CALLS;
  if (chat === undefined) throw new Error('no call');
  const told = /"models":"(answer [^"]*)"/.exec(child.output())?.[1];
  return [await statusOf(chat, { url: reachable }), told];
}

describe('models answer without a key', () => {
  test('by default where the service listens on loopback and no upstream is configured', async () => {
    expect(await anonymityOf(service)).toEqual([
      200,
      expect.stringMatching(/^answer without a key .*this machine/),
    ]);
  });

  test.each([{ GATEWAY_ANONYMOUS: 'false' }, { HOST: '0.0.0.0' }])('not with %j', async (environment) => {
    await using own = await startService({ environment });
    expect(await anonymityOf(own)).toEqual([401, 'answer with a key only']);
    const url = own.url.replace('0.0.0.0', '127.0.0.1');
    expect(await statusesOf({ url })).toEqual([401]);
    expect(await statusOf(['POST', '/v1/images/generations', { prompt: 'x' }], { url })).toBe(401);
  });

  test('not by default before an upstream, but where GATEWAY_ANONYMOUS says so, under the same conditions', async () => {
    const models = (mock: string) => ({
      upstreams: { main: { base_url: `${mock}/v1` } },
      models: { 'local-echo': { targets: [{ upstream: 'main', model: 'ok' }] } },
    });
    {
      await using own = await startGateway(models);
      expect(await anonymityOf(own.service)).toEqual([401, 'answer with a key only']);
    }
    await using own = await startGateway(models, { GATEWAY_ANONYMOUS: 'true' });
    expect(await anonymityOf(own.service)).toEqual([200, expect.stringMatching(/^answer without a key /)]);
    expect(await statusesOf({ url: own.url, host: 'evil.example' })).toEqual([401]);
  });

  test('not by default with OPENAI_BASE_URL', async () => {
    await using own = await startService({ environment: { OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' } });
    expect(await anonymityOf(own)).toEqual([401, 'answer with a key only']);
  });

  test('on every interface where the setting says so, under the same conditions', async () => {
    await using own = await startService({ environment: { HOST: '0.0.0.0', GATEWAY_ANONYMOUS: 'true' } });
    const url = own.url.replace('0.0.0.0', '127.0.0.1');
    expect(await anonymityOf(own)).toEqual([200, expect.stringMatching(/^answer without a key .*localhost/)]);
    expect(await statusesOf({ url, host: 'atrium.example' })).toEqual([401]);
    expect(await statusesOf({ url, headers: [JSON_TYPE, 'Via: 1.1 proxy'] })).toEqual([401]);
  });

  test('in the first workspace, in each of several processes', async () => {
    await using own = await startService({ environment: { PROCESSES: '2', PORT: `${freePort()}` } });
    const call: Call = ['POST', `/${WORKSPACE}/v1/embeddings`, EMBEDDING];
    const found = await Promise.all(Array.from({ length: 20 }, () => statusOf(call, { url: own.url })));
    expect([...new Set(found)]).toEqual([200]);
    expect(await statusOf(['POST', '/default/v1/embeddings', EMBEDDING], { url: own.url })).toBe(401);
  });
});
