// Answers that are kept: of requests whose answer is determined, asked once, never across workspaces.

import { describe, expect, test } from 'bun:test';
import { until } from '../../src/core/wait.ts';
import { AnswerCache } from '../../src/gateway/cache.ts';
import type { Ended, ModelCall, Served } from '../../src/gateway/model-call.ts';
import { readRequest } from '../../src/gateway/request.ts';
import type { Model } from '../../src/gateway/targets.ts';

const MODEL: Model = {
  id: 'm',
  endpoints: ['chat'],
  strategy: 'weighted',
  targets: [],
  fallbacks: [],
  candidates: [],
  price: undefined,
  cacheTtlSeconds: 60,
  created: 0,
  ownedBy: 'test',
  description: undefined,
};

const ANSWER = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
};

const whole = (status = 200, body: object = ANSWER): Served => ({
  kind: 'whole',
  status,
  headers: { 'x-request-id': 'r' },
  bytes: Buffer.from(JSON.stringify(body)),
});

type Asked = {
  body?: string | Uint8Array;
  workspaceId?: string;
  endpoint?: ModelCall['endpoint'];
  model?: Model;
  signal?: AbortSignal;
  fresh?: (onBlock?: (block: Uint8Array) => void) => Promise<Served>;
};

const BODY = '{"model":"m","temperature":0,"messages":[]}';

function setting() {
  // A clock that stands at 0 says nothing to the cache.
  let nowMs = 1;
  let asked = 0;
  let hits = 0;
  const cache = new AnswerCache(() => nowMs);
  return {
    cache,
    asked: () => asked,
    hits: () => hits,
    advance: (ms: number) => {
      nowMs += ms;
    },
    serve: async ({
      body = BODY,
      workspaceId = 'w',
      endpoint = 'chat',
      model = MODEL,
      ...rest
    }: Asked = {}) =>
      cache.serve(
        {
          endpoint,
          headers: {},
          atMostOnce: false,
          continues: false,
          request: await readRequest(Buffer.from(body)),
          caller: { workspaceId, email: '', keyId: '', limits: {} },
          signal: rest.signal ?? new AbortController().signal,
        },
        model,
        {
          usage: undefined,
          fresh: async (onBytes?: (bytes: Uint8Array) => void) => {
            asked += 1;
            return (rest.fresh ?? (async () => whole()))(onBytes);
          },
          fromCache: async () => {
            hits += 1;
            return { 'x-ratelimit-limit-requests': '5' };
          },
        },
      ),
  };
}

const textOf = async (served: Served): Promise<string> =>
  served.kind === 'whole' ? Buffer.from(served.bytes).toString() : new Response(served.body).text();

test('the same request again is answered from memory, and says so', async () => {
  const { serve, asked, hits } = setting();
  const first = await serve();
  const second = await serve();
  expect(first.headers).toEqual({ 'x-request-id': 'r', 'atrium-cache': 'miss' });
  expect(second.headers).toMatchObject({ 'atrium-cache': 'hit', 'x-ratelimit-limit-requests': '5' });
  expect(await textOf(second)).toBe(await textOf(first));
  expect([asked(), hits()]).toEqual([1, 1]);
});

describe('the same request is', () => {
  const same = {
    'in another order': '{"messages":[],"temperature":0,"model":"m"}',
    'with blanks': '{ "model": "m",\n "temperature": 0, "messages": [ ] }',
    'of another user': '{"model":"m","temperature":0,"messages":[],"user":"u"}',
    'that says it does not stream': '{"model":"m","temperature":0,"messages":[],"stream":false}',
    'with escapes': '{"model":"m","temperature":0,"m\\u0065ssages":[]}',
  };
  for (const [name, body] of Object.entries(same))
    test(name, async () => {
      const { serve, asked } = setting();
      await serve();
      await serve({ body });
      expect(asked()).toBe(1);
    });
});

describe('another request is one', () => {
  const seeded = (seed: string): string => `{"model":"m","temperature":0,"messages":[],"seed":${seed}}`;
  const others: Record<string, [Asked, Asked]> = {
    'of another workspace': [{}, { workspaceId: 'v' }],
    'of another model': [{}, { model: { ...MODEL, id: 'n' } }],
    'of another endpoint': [{}, { endpoint: 'completions' }],
    'with a large integer next to it': [
      { body: seeded('9007199254740993') },
      { body: seeded('9007199254740992') },
    ],
    'with an even larger one': [
      { body: seeded('123456789012345678901234567890') },
      { body: seeded('123456789012345678901234567891') },
    ],
    'with members in a list in another order': [
      { body: '{"model":"m","temperature":0,"stop":["a","b"]}' },
      { body: '{"model":"m","temperature":0,"stop":["b","a"]}' },
    ],
    'with a null': [{}, { body: '{"model":"m","temperature":0,"messages":null}' }],
    'with a member of the prototype': [
      {},
      { body: '{"model":"m","temperature":0,"messages":[],"__proto__":{"a":1}}' },
    ],
  };
  for (const [name, [one, other]] of Object.entries(others))
    test(name, async () => {
      const { serve, asked } = setting();
      await serve(one);
      await serve(other);
      expect(asked()).toBe(2);
    });
});

test('one name in several objects, colons within texts, and escapes are no repeats', async () => {
  const { serve, hits } = setting();
  const messages = [
    { role: 'user', content: 'a: "b": {"c": 1, "c": 2}' },
    { role: 'user', content: '\\":\\' },
    { '"role":': 'user', 'con:tent': [{ a: { a: { a: 1 } } }, 'é: 😀', ''] },
  ];
  const body = JSON.stringify({ model: 'm', temperature: 0, messages, seed: 1 });
  await serve({ body });
  expect((await serve({ body: ` ${body}\n` })).headers['atrium-cache']).toBe('hit');
  expect(hits()).toBe(1);
});

test('of two members of one name the last one is asked, and kept', async () => {
  const { serve, asked } = setting();
  await serve({ body: '{"model":"m","temperature":0,"messages":[1]}' });
  await serve({ body: '{"model":"m","temperature":0,"messages":[1],"messages":[2]}' });
  expect(asked()).toBe(2);
  for (const twice of [
    '{"model":"m","temperature":0,"messages":[2]}',
    '{"model":"m","temperature":1,"temperature":0,"messages":[2]}',
    String.raw`{"model":"m","temperature":0,"messages":[1],"mess\u0061ges":[2]}`,
  ])
    expect((await serve({ body: twice })).headers['atrium-cache']).toBe('hit');
  expect(asked()).toBe(2);
});

describe('is asked each time', () => {
  const bodies = {
    'what has no temperature': '{"model":"m","messages":[]}',
    'what has another one': '{"model":"m","temperature":0.1,"messages":[]}',
    'what has a text for it': '{"model":"m","temperature":"0","messages":[]}',
    'what wants several answers': '{"model":"m","temperature":0,"n":2,"messages":[]}',
  };
  for (const [name, body] of Object.entries(bodies))
    test(name, async () => {
      const { serve, asked } = setting();
      expect((await serve({ body })).headers['atrium-cache']).toBeUndefined();
      await serve({ body });
      expect(asked()).toBe(2);
    });

  test('an image', async () => {
    const { serve, asked } = setting();
    await serve({ endpoint: 'images' });
    await serve({ endpoint: 'images' });
    expect(asked()).toBe(2);
  });

  test('what failed', async () => {
    const { serve, asked } = setting();
    await serve({ fresh: async () => whole(400, { error: {} }) });
    await serve();
    expect(asked()).toBe(2);
  });

  test('what is too old', async () => {
    const { serve, asked, advance } = setting();
    await serve();
    advance(60_000);
    await serve();
    expect(asked()).toBe(1);
    advance(1);
    await serve();
    expect(asked()).toBe(2);
  });
});

test('memory is bounded, and the least recently used goes first', async () => {
  const { serve, cache, asked } = setting();
  const large = { ...ANSWER, x: 'a'.repeat(1_000_000) };
  const ask = (seed: number) =>
    serve({ body: `{"model":"m","temperature":0,"seed":${seed}}`, fresh: async () => whole(200, large) });
  for (let seed = 0; seed < 100; seed++) {
    await ask(seed);
    await ask(0);
  }
  expect(cache.sizeBytes).toBeLessThanOrEqual(67_108_864);
  expect(asked()).toBe(100);
  await ask(1);
  expect(asked()).toBe(101);
});

test('an answer that is kept again, in the place of the same, counts once', async () => {
  const { serve, cache } = setting();
  const failing = Promise.withResolvers<Served>();
  const first = serve({ fresh: () => failing.promise });
  const others = Array.from({ length: 5 }, () => serve({ fresh: async () => whole() }));
  failing.resolve(whole(500, { error: {} }));
  await Promise.all([first, ...others]);
  const bytes = JSON.stringify(ANSWER).length;
  expect(cache.sizeBytes).toBe(bytes);
});

test('an answer that is too old leaves its room', async () => {
  const { serve, cache, advance } = setting();
  for (let round = 0; round < 3; round++) {
    await serve();
    advance(60_000);
  }
  expect(cache.sizeBytes).toBe(JSON.stringify(ANSWER).length);
});

describe('streams', () => {
  const STREAMED = '{"model":"m","temperature":0,"messages":[],"stream":true}';
  const CHUNKS = [
    'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"h"},"finish_reason":null}]}\n\n',
    'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"i"},"finish_reason":"stop"}]}\n\n',
    'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}\n\n',
    'data: [DONE]\n\n',
  ];
  const streaming =
    (chunks: string[]) =>
    async (onBlock?: (block: Uint8Array) => void): Promise<Served> => {
      const { promise: over, resolve } = Promise.withResolvers<Ended>();
      let at = 0;
      const body = new ReadableStream<Uint8Array>({
        pull(client) {
          const text = chunks[at++];
          if (text === undefined) {
            resolve({ outcome: at > CHUNKS.length ? 'ok' : 'failed', usage: undefined });
            client.close();
            return;
          }
          onBlock?.(Buffer.from(text));
          client.enqueue(Buffer.from(text));
        },
        cancel: () => resolve({ outcome: 'cancelled', usage: undefined }),
      });
      return { kind: 'stream', headers: {}, body, over };
    };

  test('what was streamed is streamed again, and not given whole', async () => {
    const { serve, asked } = setting();
    const first = await serve({ body: STREAMED, fresh: streaming(CHUNKS) });
    expect(first.headers['atrium-cache']).toBe('miss');
    await textOf(first);
    const again = await serve({ body: STREAMED });
    expect([again.kind, again.headers['atrium-cache']]).toEqual(['stream', 'hit']);
    expect(await textOf(again)).toBe(CHUNKS.join(''));
    expect(JSON.parse(await textOf(await serve()))).toEqual(ANSWER);
    expect(asked()).toBe(2);
  });

  test('what broke off is not kept', async () => {
    const { serve, asked } = setting();
    await textOf(await serve({ body: STREAMED, fresh: streaming(CHUNKS.slice(0, 2)) }));
    await textOf(await serve({ body: STREAMED, fresh: streaming(CHUNKS) }));
    expect(asked()).toBe(2);
  });

  test('one that fails lets those who wait go on', async () => {
    const { serve, asked } = setting();
    const first = await serve({ body: STREAMED, fresh: streaming([]) });
    const waiting = serve({ body: STREAMED, fresh: streaming(CHUNKS) });
    await textOf(first).catch(() => undefined);
    expect((await waiting).headers['atrium-cache']).toBe('miss');
    expect(asked()).toBe(2);
  });

  test('one whose client leaves lets those who wait go on', async () => {
    const { serve } = setting();
    const first = await serve({ body: STREAMED, fresh: streaming(CHUNKS) });
    const waiting = serve({ body: STREAMED, fresh: streaming(CHUNKS) });
    if (first.kind === 'stream') await first.body.cancel();
    expect((await waiting).headers['atrium-cache']).toBe('miss');
  });
});

describe('at the same time', () => {
  test('one asks, all are answered', async () => {
    const { serve, asked } = setting();
    const { promise, resolve } = Promise.withResolvers<Served>();
    const all = Array.from({ length: 50 }, () => serve({ fresh: () => promise }));
    resolve(whole());
    const answers = await Promise.all(all);
    expect(asked()).toBe(1);
    expect(answers.filter(({ headers }) => headers['atrium-cache'] === 'hit')).toHaveLength(49);
  });

  test('nobody waits for more than one who fails', async () => {
    const { serve, asked } = setting();
    const [first, others] = [Promise.withResolvers<Served>(), Promise.withResolvers<Served>()];
    const fresh = () => (asked() === 1 ? first : others).promise;
    const all = Array.from({ length: 50 }, () => serve({ fresh }));
    const settled = Promise.allSettled(all);
    first.reject(new Error('failed'));
    await until(() => asked() === 50, { everyMs: 1 });
    others.reject(new Error('failed'));
    expect((await settled).every(({ status }) => status === 'rejected')).toBe(true);
  });

  test('who leaves does not go on waiting', async () => {
    const { serve } = setting();
    const { promise, resolve } = Promise.withResolvers<Served>();
    const first = serve({ fresh: () => promise });
    const leaving = new AbortController();
    const second = serve({ signal: leaving.signal });
    leaving.abort(new Error('left'));
    await expect(second).rejects.toThrow('left');
    resolve(whole());
    await first;
  });
});
