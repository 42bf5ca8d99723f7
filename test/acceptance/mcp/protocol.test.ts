// The MCP server as a part of HTTP: keys, origins, malformed and hostile messages, cancellation, processes, the log.

import { describe, expect, test } from 'bun:test';
import { eventually, freePort } from '../../support/child.ts';
import { startGateway } from '../../support/gateway.ts';
import { startService } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';
import { expectStatus } from '../support/caller.ts';
import { connect, HEADERS, message, messagesOf, modernMessage, REVISIONS } from '../support/mcp.ts';
import { startSetting } from '../support/setting.ts';

const setting = await shared(startSetting({ CORS_ORIGINS: 'https://app.example' }));
const { people, url, adminKey } = setting;

type Sent = { body?: unknown; text?: string; key?: string | undefined; headers?: Record<string, string> };

async function send({ body, text = JSON.stringify(body), key = adminKey, headers = {} }: Sent) {
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { ...HEADERS, authorization: `Bearer ${key}`, ...headers },
    body: text,
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** The code of the error of JSON-RPC that answers a message, and the status. */
async function errorOf(sent: Sent) {
  const { status, text } = await send(sent);
  return { status, code: messagesOf(text)[0]?.error?.code };
}

describe('a request', () => {
  test('needs a key, in either header, of which the challenge says where', async () => {
    const list = { body: message('tools/list') };
    const without = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: HEADERS,
      body: JSON.stringify(list.body),
    });
    expect(without.status).toBe(401);
    expect(without.headers.get('www-authenticate')).toStartWith('Bearer realm="atrium"');
    const revoked = await people.newKey();
    expect((await send({ ...list, key: revoked.key })).status).toBe(200);
    expectStatus(await people.revoke(revoked.id), 204);
    for (const key of [revoked.key, 'made up', ''])
      expect([key, (await send({ ...list, key })).status]).toEqual([key, 401]);
    const inHeader = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: { ...HEADERS, APIKeyHeader: adminKey },
      body: JSON.stringify(list.body),
    });
    expect(inHeader.status).toBe(200);
    await expect(connect(url, revoked.key)).rejects.toThrow('401');
  });

  test('of a page of another origin is refused, also where the page has the name of this host', async () => {
    const sent = { body: message('tools/list') };
    const own = new URL(url).origin;
    for (const origin of [
      'https://evil.example',
      'null',
      'http://localhost:3000',
      'https://app.example.evil.example',
    ])
      expect([origin, (await send({ ...sent, headers: { origin } })).status]).toEqual([origin, 403]);
    expect((await send({ ...sent, headers: { origin: own } })).status).toBe(200);
    // A page of another name that resolves to this machine is of its own origin, too.
    const host = `rebound.example:${new URL(url).port}`;
    expect((await send({ ...sent, headers: { host, origin: `http://${host}` } })).status).toBe(403);
    const allowed = await send({ ...sent, headers: { origin: 'https://app.example' } });
    expect(allowed.status).toBe(200);
    expect(allowed.headers.get('access-control-allow-origin')).toBe('https://app.example');
  });

  test.each(['GET', 'DELETE', 'PUT'])(
    'with the method %s is answered 405: there are no sessions',
    async (method) => {
      const answer = await setting.call(method, '/mcp', { key: adminKey });
      expect(answer.status).toBe(405);
      expect(answer.headers.get('allow')).toBe('POST');
    },
  );

  test('of another protocol version is refused with those that there are', async () => {
    const old = await send({
      body: message('tools/list'),
      headers: { 'mcp-protocol-version': '1999-01-01' },
    });
    expect(old.status).toBe(400);
    expect(old.text).toContain('2025-11-25');
    const future = await send(modernMessage('tools/list', {}, { version: '2099-01-01' }));
    expect(future.status).toBe(400);
    expect(future.text).toContain('2026-07-28');
    const asked = {
      protocolVersion: '2099-01-01',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' },
    };
    const [greeting] = messagesOf((await send({ body: message('initialize', asked) })).text);
    expect(greeting?.result).toMatchObject({ protocolVersion: '2025-11-25' });
  });

  test('that is no message is answered with an error of JSON-RPC', async () => {
    const deep = `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`;
    for (const [text, code] of [
      ['{', -32700],
      ['{"jsonrpc":"2.0",}', -32700],
      ['[[]', -32700],
      [`{"jsonrpc":"2.0","id":1,"method":"ping","params":${deep}}`, -32700],
      [`[${'1,'.repeat(60_000)}1]`, -32700],
      ['', -32600],
      ['null', -32600],
      ['5', -32600],
      ['{}', -32600],
      ['[]', -32600],
      ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\u0000"}}', -32600],
    ] as const)
      expect([text.slice(0, 60), await errorOf({ text })]).toEqual([
        text.slice(0, 60),
        { status: 400, code },
      ]);
    const large = await send({ text: JSON.stringify(message('ping', { a: 'x'.repeat(1_100_000) })) });
    expect(large.status).toBe(413);
    expect((await send({ text: '{}', headers: { 'content-type': 'text/plain' } })).status).toBe(415);
    expect((await send({ body: message('tools/list'), headers: { accept: 'text/html' } })).status).toBe(406);
  });

  test('for what there is not is answered with the codes of JSON-RPC, and nothing is an error of the service', async () => {
    const call = (params: unknown) => ({ body: { ...message('tools/call'), params } });
    for (const sent of [
      { body: message('nope') },
      { body: message('prompts/list') },
      { body: message('__proto__') },
      call({ name: 'nope' }),
      call({ name: 'constructor', arguments: {} }),
      call({ name: 5 }),
      call({ name: 'search_documents', arguments: [] }),
      call({ name: 'search_documents', arguments: 'x' }),
      call(5),
      call(null),
      { body: message('resources/read', { uri: 5 }) },
      { body: message('resources/list', { cursor: 5 }) },
      { body: message('initialize', { protocolVersion: 5 }) },
      { body: { ...message('tools/list'), id: {} } },
      { body: { ...message('tools/list'), id: null } },
      { body: { ...message('tools/list'), jsonrpc: '1.0' } },
      modernMessage('nope'),
      modernMessage('subscriptions/listen', { notifications: {} }),
    ]) {
      const { status, code } = await errorOf(sent);
      expect([JSON.stringify(sent.body).slice(0, 90), status < 500, code]).toEqual([
        JSON.stringify(sent.body).slice(0, 90),
        true,
        expect.any(Number),
      ]);
    }
  });

  test('with arguments of any kind gives a refusal in a sentence, or an answer', async () => {
    const odd = [
      null,
      5,
      -1,
      1e300,
      '',
      'x'.repeat(5000),
      [],
      [[]],
      {},
      { a: {} },
      true,
      '\ud83d\ude00',
      '%00',
      '../..',
    ];
    for (const value of odd) {
      for (const [name, argument] of [
        ['search_documents', 'query'],
        ['search_documents', 'filters'],
        ['search_documents', 'order_by'],
        ['search_documents', 'offset'],
        ['read_document', 'document_id'],
        ['read_document', 'offset'],
        ['document_link', 'expires_in'],
        ['ask_agent', 'session_id'],
        ['ask_agent', '__proto__'],
      ] as const) {
        const given = JSON.stringify({ question: 'x', document_id: crypto.randomUUID() });
        const text = JSON.stringify(message('tools/call', { name, arguments: '$' })).replace(
          '"$"',
          `${given.slice(0, -1)},${JSON.stringify(argument)}:${JSON.stringify(value)}}`,
        );
        const { status, text: answer } = await send({ text });
        expect(status).toBeLessThan(500);
        expect(answer).not.toContain('Internal');
      }
    }
  });

  test('may hold a batch, as earlier revisions have it, of at most a hundred', async () => {
    const pings = Array.from({ length: 100 }, (_, id) => message('ping', {}, id));
    const answer = await send({ body: pings });
    expect(messagesOf(answer.text).length).toBe(100);
    expect(await errorOf({ body: [...pings, message('ping', {}, 100)] })).toEqual({
      status: 400,
      code: -32600,
    });
    const searches = Array.from({ length: 40 }, (_, id) =>
      message('tools/call', { name: 'search_documents', arguments: {} }, id),
    );
    expect(messagesOf((await send({ body: searches })).text).length).toBe(40);
    // Two of one id are a mistake of the client's: it is answered, and ends.
    const twins = await send({ body: [message('tools/list'), message('ping'), message('ping', {}, 2)] });
    expect(messagesOf(twins.text).length).toBeGreaterThan(0);
  });

  test('is one line of the log, which names the tool and nothing that the client sent', async () => {
    const { child } = setting.service;
    const line = (called: string) =>
      eventually('the line', async () => child.output().includes(`"called":"${called}"`));
    await send({
      body: message('tools/call', { name: 'search_documents', arguments: { query: 'a secret word' } }),
    });
    await line('search_documents');
    await send({ body: message('tools/call', { name: 'made"up' }) });
    await send({ body: message('evil"method') });
    await line('other');
    expect(child.output()).not.toContain('secret word');
    expect(child.output()).not.toContain('evil');
    const metrics = (await setting.call('GET', '/metrics')).text;
    expect(metrics).toMatch(/atrium_mcp_tool_calls_total\{tool="search_documents",outcome="answered"\} \d+/);
    expect(metrics).not.toContain('made"up');
  });
});

test.each(REVISIONS)(
  'a call that takes long ends when a client of the revision %s leaves',
  async (revision) => {
    await using gateway = await startGateway((mockUrl) => ({
      upstreams: { mock: { base_url: `${mockUrl}/v1`, retries: 0 } },
      models: { slow: { endpoints: ['chat'], targets: [{ upstream: 'mock', model: 'held+key=slow' }] } },
      defaults: { chat: 'slow' },
    }));
    await using client = await connect(gateway.url, gateway.key, revision);
    const leaving = new AbortController();
    const ended = client
      .callTool({ name: 'ask_agent', arguments: { question: 'x' } }, { signal: leaving.signal })
      .then(
        () => 'answered',
        () => 'ended',
      );
    await eventually('the model to be asked', async () => (await gateway.mock.state('slow')).requests === 1);
    leaving.abort();
    await client.close();
    expect(await ended).toBe('ended');
    const counted = async () => (await fetch(`${gateway.url}/metrics`)).text();
    await eventually('the call to be counted', async () =>
      (await counted()).includes('{tool="ask_agent",outcome="cancelled"} 1'),
    );
    await gateway.mock.release('slow');
  },
);

test('any process answers any request of a client: there are no sessions', async () => {
  await using service = await startService({ environment: { PROCESSES: '2', PORT: String(freePort()) } });
  for (const revision of REVISIONS) {
    const clients = await Promise.all(
      Array.from({ length: 6 }, () => connect(service.url, adminKey, revision)),
    );
    const answers = await Promise.all(
      clients.flatMap((client) =>
        Array.from({ length: 10 }, () => client.callTool({ name: 'search_documents', arguments: {} })),
      ),
    );
    expect(answers.filter(({ isError }) => isError === true)).toEqual([]);
    await Promise.all(clients.map((client) => client.close()));
  }
});
