// Kept answers: when one is given again, to whom, and that nobody waits for somebody who has left.

import { expect, test } from 'bun:test';
import { eventually } from '../support/child.ts';
import { type ModelsFile, startGateway } from '../support/gateway.ts';
import { shared } from '../support/shared.ts';

const modelsFile = (mockUrl: string): ModelsFile => ({
  upstreams: { mock: { base_url: `${mockUrl}/v1`, retries: 0 } },
  models: {
    kept: { targets: [{ upstream: 'mock', model: 'ok' }], cache: { ttl_seconds: 60 } },
    other: { targets: [{ upstream: 'mock', model: 'ok' }], cache: { ttl_seconds: 60 } },
    fresh: { targets: [{ upstream: 'mock', model: 'ok' }] },
  },
});

const gateway = await shared(startGateway(modelsFile));

type Question = { key?: string; model?: string; mock: object; signal?: AbortSignal } & Record<
  string,
  unknown
>;

/** A question of its own by the mock's key, at temperature 0 unless it says otherwise. */
const ask = ({ key = gateway.key, signal, ...body }: Question): Promise<Response> =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'kept',
      temperature: 0,
      messages: [{ role: 'user', content: 'hi' }],
      ...body,
    }),
    ...(signal === undefined ? {} : { signal }),
  });

const askedFor = async (key: string): Promise<number> => (await gateway.mock.state(key)).requests;
const stateOf = (response: Response): string | null => response.headers.get('atrium-cache');
const newKey = (): string => crypto.randomUUID();

test('the same question is answered again with the same words', async () => {
  const mock = { key: newKey() };
  const first = await ask({ mock });
  const again = await ask({ mock });
  expect([stateOf(first), stateOf(again)]).toEqual(['miss', 'hit']);
  expect(await again.text()).toEqual(await first.text());
  expect(await askedFor(mock.key)).toBe(1);
});

test('what was streamed is streamed again, with the usage where it is asked for', async () => {
  const mock = { key: newKey() };
  for (const options of [{}, { stream_options: { include_usage: true } }]) {
    const first = await (await ask({ mock, stream: true, ...options })).text();
    const again = await ask({ mock, stream: true, ...options });
    expect(stateOf(again)).toBe('hit');
    expect(await again.text()).toBe(first);
    expect(first.includes('"total_tokens"')).toBe('stream_options' in options);
    expect(first).toEndWith('data: [DONE]\n\n');
  }
  expect(await askedFor(mock.key)).toBe(2);
});

test('members in another order are the same question; other values are another', async () => {
  const mock = { key: newKey() };
  await (await ask({ mock, top_p: 0.5, seed: 1 })).text();
  expect(stateOf(await ask({ seed: 1, top_p: 0.5, mock }))).toBe('hit');
  expect(stateOf(await ask({ mock, top_p: 0.5, seed: 2 }))).toBe('miss');
  expect(stateOf(await ask({ mock, top_p: 0.5, seed: 1, model: 'other' }))).toBe('miss');
});

test('what is left to chance, and what failed, is asked again', async () => {
  const mock = { key: newKey() };
  for (const temperature of [undefined, 0.5]) {
    await (await ask({ mock, temperature })).text();
    expect(stateOf(await ask({ mock, temperature }))).not.toBe('hit');
  }
  const failing = { key: newKey(), fault: 'status-500', times: 1 };
  expect((await ask({ mock: failing })).status).toBe(500);
  expect((await ask({ mock: failing })).status).toBe(200);
  expect(stateOf(await ask({ mock: { key: newKey() }, model: 'fresh' }))).toBeNull();
});

test('a stream that breaks off is not kept', async () => {
  const mock = { key: newKey(), fault: 'die-mid', times: 1 };
  expect(await (await ask({ mock, stream: true })).text()).toContain('"error"');
  const again = await ask({ mock, stream: true });
  expect(stateOf(again)).toBe('miss');
  expect(await again.text()).toEndWith('data: [DONE]\n\n');
});

test('who ask the same at once share one answer', async () => {
  const mock = { key: newKey(), fault: 'slow', ms: 400 };
  const answers = await Promise.all([1, 2, 3, 4, 5].map(() => ask({ mock })));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  expect(await askedFor(mock.key)).toBe(1);
});

for (const fault of ['hang', 'hang-mid']) {
  for (const stream of [false, true]) {
    test(`nobody waits for somebody who has left: ${fault}, ${stream ? 'streamed' : 'whole'}`, async () => {
      const mock = { key: newKey(), fault, times: 1 };
      const controller = new AbortController();
      const first = ask({ mock, stream, signal: controller.signal })
        .then((response) => response.text())
        .catch(() => undefined);
      await eventually('the first to be asked', async () => (await askedFor(mock.key)) === 1);
      await Bun.sleep(100);
      const second = ask({ mock, stream });
      await Bun.sleep(100);
      controller.abort();
      await first;
      expect(await (await second).text()).toContain('said');
      expect(await askedFor(mock.key)).toBe(2);
    });
  }
}

test('nothing is shared between workspaces', async () => {
  const administer = async (path: string, json: object): Promise<Record<string, string>> => {
    const response = await fetch(`${gateway.url}/admin/api/workspaces${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(json),
    });
    expect(response.status).toBe(201);
    return (await response.json()) as Record<string, string>;
  };
  await administer('', { id: 'elsewhere' });
  const scopes = ['models'];
  const { key } = await administer('/elsewhere/keys', { name: 'k', scopes, user_email: 'a@example.com' });
  const mock = { key: newKey() };
  await (await ask({ mock })).text();
  expect(stateOf(await ask({ mock, ...(key !== undefined && { key }) }))).toBe('miss');
});
