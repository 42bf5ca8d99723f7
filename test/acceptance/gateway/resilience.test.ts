// Which upstream is asked, how often and how long: balance, retries, circuits, queues, time-outs.

import { describe, expect, test } from 'bun:test';
import { createConnection } from 'node:net';
import { eventually, startChild } from '../../support/child.ts';
import { startGateway } from '../../support/gateway.ts';
import { machineNow } from '../../support/machine-time.ts';
import { shared } from '../../support/shared.ts';
import { createClient, errorOf } from './client.ts';

/** A listener whose backlog is full: connections to it are never made. */
async function startFullListener(): Promise<AsyncDisposable & { port: number }> {
  const script = [
    'import socket, time',
    's = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(0)',
    'port = s.getsockname()[1]; kept = []',
    'for _ in range(4):',
    '    c = socket.socket(); c.setblocking(False); c.connect_ex(("127.0.0.1", port)); kept.append(c)',
    'time.sleep(0.2); print("listens on", port, flush=True); time.sleep(600)',
  ].join('\n');
  const child = startChild(['python3', '-c', script]);
  const port = await eventually('the listener', () => /listens on (\d+)\s/.exec(child.output())?.[1]);
  return { port: Number(port), [Symbol.asyncDispose]: () => child.stop() };
}

const full = await shared(startFullListener());
const gateway = await shared(
  startGateway((mockUrl) => {
    const base_url = `${mockUrl}/v1`;
    const target = (upstream: string, model: string, weight = 1): object => ({ upstream, model, weight });
    return {
      upstreams: {
        once: { base_url, retries: 0 },
        twice: { base_url, retries: 1 },
        thrice: { base_url, retries: 2 },
        narrow: { base_url, retries: 2, concurrency: { max: 2, queue: 3 } },
        impatient: { base_url, retries: 0, timeout_ms: { idle: 3000 } },
        short: { base_url, retries: 0, concurrency: { max: 1, queue: 0 }, timeout_ms: { total: 8000 } },
        parts: { base_url, retries: 0, embedding_inputs_max: 3 },
        full: { base_url: `http://127.0.0.1:${full.port}/v1`, retries: 0, timeout_ms: { connect: 700 } },
      },
      models: {
        ok: { targets: [target('once', 'ok')] },
        weighted: {
          targets: [
            target('once', 'ok+key=heavy', 4),
            target('once', 'ok+key=light', 1),
            target('once', 'ok+key=none', 0),
          ],
        },
        quickest: {
          strategy: 'latency',
          // So slow that a busy machine is not taken for it.
          targets: [target('once', 'slow+ms=2000+key=slow'), target('once', 'ok+key=quick')],
        },
        'fails-at-once': {
          strategy: 'latency',
          targets: [target('once', 'status-429+key=failing'), target('once', 'slow+ms=30+key=working')],
        },
        waits: { targets: [target('twice', 'status-429+retry-after=1+times=1+key=waits')] },
        'waits-exactly': {
          targets: [target('twice', 'status-503+retry-after-ms=400+times=1+key=waits-exactly')],
        },
        'waits-long': { targets: [target('thrice', 'status-429+retry-after=30+key=waits-long')] },
        'waits-between': {
          targets: [
            target('thrice', 'status-429+retry-after=1+times=1+key=waits-a', 1),
            target('thrice', 'status-500+key=waits-b', 0),
          ],
        },
        heals: { targets: [target('once', 'status-500+times=5+key=heals')], fallbacks: ['ok'] },
        narrow: { targets: [target('narrow', 'ok+key=narrow')] },
        unreachable: { targets: [target('full', 'x')] },
        'unreachable-backed': { targets: [target('full', 'x')], fallbacks: ['ok'] },
        'fails-once': { targets: [target('thrice', 'status-500+times=1+key=fails-once')] },
        'fails-once-backed': { targets: [target('once', 'status-500+key=fails-backed')], fallbacks: ['ok'] },
        dies: { targets: [target('thrice', 'die+key=dies')], fallbacks: ['ok'] },
        short: { targets: [target('short', 'ok+words=100000+key=short')] },
        large: { targets: [target('impatient', 'ok+words=60000+key=large')] },
        parts: { endpoints: ['embeddings'], targets: [target('parts', 'ok+batch=3+key=parts')] },
        'parts-failing': {
          endpoints: ['embeddings'],
          targets: [target('parts', 'status-400+key=parts-failing')],
        },
        cached: { targets: [target('once', 'ok+key=cached')], cache: { ttl_seconds: 60 } },
        'cached-slow': {
          targets: [target('once', 'slow+ms=300+key=cached-slow')],
          cache: { ttl_seconds: 60 },
        },
      },
    };
  }),
);
const client = createClient(gateway);

const requestsOf = async (key: string): Promise<number> => (await gateway.mock.state(key)).requests;

async function askTimes(model: string, times: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let index = 0; index < times; index++) {
    const response = await client.ask(model);
    await response.text();
    statuses.push(response.status);
  }
  return statuses;
}

const AT_MOST_ONCE = { 'atrium-at-most-once': 'true' };

describe('balance', () => {
  test('follows the weights', async () => {
    await askTimes('weighted', 300);
    const heavy = await requestsOf('heavy');
    expect([heavy + (await requestsOf('light')), await requestsOf('none')]).toEqual([300, 0]);
    // Five standard deviations around 240.
    expect(Math.abs(heavy - 240)).toBeLessThan(35);
  });

  test('prefers the quicker upstream', async () => {
    await askTimes('quickest', 60);
    expect(await requestsOf('quick')).toBeGreaterThan(50);
  });

  test('does not take failing at once for being quick', async () => {
    expect(new Set(await askTimes('fails-at-once', 60))).toEqual(new Set([200]));
    expect(await requestsOf('failing')).toBeLessThan(10);
  });
});

describe('retry-after', () => {
  const gapOf = async (key: string): Promise<number> => {
    const { arrivals } = await gateway.mock.state(key);
    return (arrivals[1] ?? Number.NaN) - (arrivals[0] ?? Number.NaN);
  };
  test('is waited for', async () => {
    expect((await client.ask('waits')).status).toBe(200);
    expect(await gapOf('waits')).toBeWithin(990, 8000);
    expect((await client.ask('waits-exactly')).status).toBe(200);
    expect(await gapOf('waits-exactly')).toBeWithin(390, 8000);
  });

  test('is waited for also where another upstream was asked between', async () => {
    expect((await client.ask('waits-between')).status).toBe(200);
    expect(await gapOf('waits-a')).toBeWithin(990, 8000);
  });

  test('that is too long is the caller’s to wait for', async () => {
    const startedAt = machineNow();
    const response = await client.ask('waits-long');
    expect(machineNow() - startedAt).toBeLessThan(15_000);
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '30']);
    expect(await requestsOf('waits-long')).toBe(1);
  });
});

test('a circuit opens after five failures, and heals', async () => {
  await askTimes('heals', 5);
  expect(await requestsOf('heals')).toBe(5);
  // All at once: that they are done before its time is over.
  await Promise.all(Array.from({ length: 10 }, () => askTimes('heals', 1)));
  expect(await requestsOf('heals')).toBe(5);
  expect(await (await fetch(`${gateway.url}/metrics`)).text()).toMatch(
    /atrium_model_circuit_open\{[^}]*heals[^}]*\} 1/,
  );
  await Bun.sleep(5100);
  expect(new Set(await askTimes('heals', 10))).toEqual(new Set([200]));
  expect(await requestsOf('heals')).toBe(15);
});

describe('a narrow upstream', () => {
  test('is asked by two at once; three wait, the rest is refused at once', async () => {
    const inOrder: Response[] = [];
    const key = 'narrow-at-once';
    const body = { mock: { fault: 'held', key } };
    const asked = Array.from(
      { length: 10 },
      async () => void inOrder.push(await client.ask('narrow', { body })),
    );
    await eventually('the refusals', () => inOrder.length === 5).finally(() => gateway.mock.release(key));
    await Promise.all(asked);
    const refused = inOrder.slice(0, 5);
    expect(inOrder.map(({ status }) => status)).toEqual([...Array(5).fill(503), ...Array(5).fill(200)]);
    for (const response of refused) {
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await errorOf(response)).message).toBe('Too many requests wait for the model');
    }
    expect((await gateway.mock.state(key)).runningMax).toBe(2);
  });

  test('lets nobody wait for much longer than five seconds', async () => {
    const body = { mock: { fault: 'hang', key: 'narrow-long' } };
    const leaving = new AbortController();
    const taken = [1, 2].map(() =>
      client.ask('narrow', { body, signal: leaving.signal }).catch(() => undefined),
    );
    await eventually('both places taken', async () => (await requestsOf('narrow-long')) === 2);
    const startedAt = performance.now();
    expect((await client.ask('narrow')).status).toBe(503);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(4900);
    // Those that it waited for are still there.
    expect((await gateway.mock.state('narrow-long')).running).toBe(2);
    leaving.abort();
    await Promise.all(taken);
    await eventually('the places are free', async () => (await client.ask('narrow')).status === 200);
  });
});

describe('an upstream that cannot be connected to', () => {
  test('is given up in its time', async () => {
    const [startedAt, begunAt] = [performance.now(), machineNow()];
    const error = await errorOf(await client.ask('unreachable'));
    expect(error).toMatchObject({ status: 504, code: 'upstream_connect_timeout' });
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(650);
    // The default is 5000.
    expect(machineNow() - begunAt).toBeLessThan(4900);
  });

  test('is replaced', async () => {
    expect((await client.ask('unreachable-backed', { body: { stream: true } })).status).toBe(200);
  });
});

describe('a request that may be sent once', () => {
  test('is not tried again after a failure, nor elsewhere', async () => {
    const before = await requestsOf('ok');
    expect((await client.ask('fails-once', { headers: AT_MOST_ONCE })).status).toBe(500);
    expect(await requestsOf('fails-once')).toBe(1);
    expect((await client.ask('fails-once-backed', { headers: AT_MOST_ONCE })).status).toBe(500);
    expect(await requestsOf('ok')).toBe(before);
  });

  test('is sent once though a connection that was kept dies with it', async () => {
    await askTimes('ok', 5);
    for (let round = 0; round < 3; round++) {
      await gateway.mock.reset('dies');
      const response = await client.ask('dies', { headers: AT_MOST_ONCE });
      expect(response.status).toBe(502);
      expect(await requestsOf('dies')).toBe(1);
      await askTimes('ok', 1);
    }
  });

  test('may go elsewhere only where nothing was sent', async () => {
    const response = await client.ask('fails-once-backed', { headers: { 'atrium-at-most-once': 'false' } });
    expect(response.status).toBe(200);
  });
});

describe('a client that reads slowly', () => {
  test('gets all of it, and is not held against the upstream', async () => {
    for (let round = 0; round < 6; round++) {
      const response = await client.ask('large', { body: { stream: true } });
      const reader = response.body?.getReader();
      await reader?.read();
      // Twice the upstream's idle time.
      if (round === 0) await Bun.sleep(6500);
      let text = '';
      for (;;) {
        const { value, done } = (await reader?.read()) ?? { value: undefined, done: true };
        if (done) break;
        text = (text + Buffer.from(value ?? []).toString()).slice(-500);
      }
      expect(text).toEndWith('data: [DONE]\n\n');
    }
  });
});

test('a client that reads nothing does not keep its place for longer than a request may take', async () => {
  const { hostname, port } = new URL(gateway.url);
  const body = JSON.stringify({ model: 'short', stream: true, messages: [{ role: 'user', content: 'a' }] });
  const socket = createConnection({ host: hostname, port: Number(port) });
  socket.on('error', () => undefined);
  socket.pause();
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${gateway.key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  try {
    await eventually('it to be asked', async () => (await requestsOf('short')) === 1);
    const ask = (): Promise<Response> =>
      client.ask('short', { body: { mock: { words: 3, key: 'short-next' } } });
    expect((await ask()).status).toBe(503);
    await eventually('its place', async () => (await ask()).status === 200);
  } finally {
    socket.destroy();
  }
});

describe('a batch of embeddings that is too large for the upstream', () => {
  const texts = Array.from({ length: 20 }, (_, index) => `text ${index}`);
  const embed = async (input: string[], body: object = {}) => {
    const response = await client.ask('parts', {
      path: '/v1/embeddings',
      body: { input, messages: undefined, ...body },
    });
    expect(response.status).toBe(200);
    return (await response.json()) as {
      object: string;
      data: { index: number; embedding: number[] | string }[];
      usage: { prompt_tokens: number; total_tokens: number };
    };
  };

  test('is split, and comes in order', async () => {
    await gateway.mock.reset('parts');
    const all = await embed(texts);
    expect(all.data.map(({ index }) => index)).toEqual(texts.map((_, index) => index));
    expect((await gateway.mock.state('parts')).requests).toBe(7);
    expect((await gateway.mock.state('parts')).runningMax).toBeLessThanOrEqual(4);
    for (const index of [0, 2, 3, 11, 19]) {
      const alone = await embed([texts[index] ?? '']);
      expect(all.data[index]?.embedding).toEqual(alone.data[0]?.embedding as number[]);
    }
    expect(all.usage.prompt_tokens).toBe(all.usage.total_tokens);
    expect(all.usage.prompt_tokens).toBeGreaterThanOrEqual(texts.length);
  });

  test('as base64, too', async () => {
    const { data } = await embed(texts, { encoding_format: 'base64' });
    expect(data).toHaveLength(20);
    for (const { embedding } of data) expect(embedding).toBeString();
  });

  test('is one request to the limits of the key, and to its account', async () => {
    const { id, key } = await client.newKey({ requests_per_minute: 2 });
    const body = { input: texts, messages: undefined };
    for (let round = 0; round < 2; round++)
      expect((await client.ask('parts', { path: '/v1/embeddings', key, body })).status).toBe(200);
    expect((await client.ask('parts', { path: '/v1/embeddings', key, body })).status).toBe(429);
    const account = await eventually('the account', async () =>
      (await client.usage({ group_by: 'key' })).items.find(
        ({ group, requests }) => group === id && requests >= 2,
      ),
    );
    expect(account.requests).toBe(2);
    expect(account.prompt_tokens).toBeGreaterThanOrEqual(2 * texts.length);
  });

  test('of which a part is refused is refused', async () => {
    const body = { input: texts, messages: undefined };
    const response = await client.ask('parts-failing', { path: '/v1/embeddings', body });
    expect((await errorOf(response)).status).toBe(400);
  });
});

describe('the cache', () => {
  const body = { temperature: 0, user: 'somebody' };
  test('answers again, streamed or whole, and says so', async () => {
    const first = await client.ask('cached', { body });
    expect(first.headers.get('atrium-cache')).toBe('miss');
    const whole = await first.json();
    const second = await client.ask('cached', { body });
    expect(second.headers.get('atrium-cache')).toBe('hit');
    expect(await second.json()).toEqual(whole);
    const asked = { body: { ...body, stream: true } };
    const told = await (await client.ask('cached', asked)).text();
    const streamed = await client.ask('cached', asked);
    expect([streamed.headers.get('atrium-cache'), streamed.headers.get('content-type')]).toEqual([
      'hit',
      'text/event-stream; charset=utf-8',
    ]);
    const text = await streamed.text();
    expect(text).toBe(told);
    expect(text).toEndWith('data: [DONE]\n\n');
    expect(await requestsOf('cached')).toBe(2);
    expect(
      (await client.ask('cached', { body: { ...body, temperature: undefined } })).headers.get('atrium-cache'),
    ).toBeNull();
  });

  test('has one ask for all who ask the same at once', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => client.ask('cached-slow', { body })));
    expect(all.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(all.filter(({ headers }) => headers.get('atrium-cache') === 'miss')).toHaveLength(1);
    expect(await requestsOf('cached-slow')).toBe(1);
  });

  test('keeps workspaces apart', async () => {
    const asked = { temperature: 0, seed: 77 };
    await (await client.ask('cached', { body: asked })).text();
    await client.call('POST', '/admin/api/workspaces', { key: gateway.key, json: { id: 'apart' } });
    const made = await client.call('POST', '/admin/api/workspaces/apart/keys', {
      key: gateway.key,
      json: { name: 'test', scopes: ['models'] },
    });
    const { key } = JSON.parse(made.text) as { key: string };
    expect((await client.ask('cached', { body: asked, key })).headers.get('atrium-cache')).toBe('miss');
  });

  test('does not fall over a body that is no JSON throughout', async () => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"model":"cached","temperature":0,"messages":[{"role":"user","content":"\u0001"}]}',
    });
    expect(response.status).toBeLessThan(500);
  });
});
