// What a call costs where its upstream tells little: streams that are left, pictures, prompts with pictures, prices that are missing.

import { describe, expect, test } from 'bun:test';
import { eventually } from '../../support/child.ts';
import { startGateway } from '../../support/gateway.ts';
import { shared } from '../../support/shared.ts';
import { createClient, errorOf } from './client.ts';

const PRICE = { input_per_million: 1_000_000, output_per_million: 1_000_000 };

const gateway = await shared(
  startGateway((mockUrl) => {
    const to = (model: string, upstream = 'mock') => [{ upstream, model }];
    const images = { endpoints: ['images'], targets: to('raw') };
    return {
      upstreams: {
        mock: { base_url: `${mockUrl}/v1`, retries: 0 },
        claude: { kind: 'anthropic', base_url: mockUrl, api_key: 'k', retries: 0 },
      },
      models: {
        raw: { endpoints: ['chat', 'completions', 'images'], targets: to('raw'), price: PRICE },
        ok: { targets: to('ok'), price: PRICE },
        claude: {
          targets: to('ok+key=claude', 'claude'),
          price: { ...PRICE, cache_read_per_million: 100_000, cache_write_per_million: 2_000_000 },
        },
        whole: {
          targets: to('ok', 'claude'),
          price: { cache_read_per_million: 1e6, cache_write_per_million: 1e8 },
        },
        pictures: { ...images, price: { per_image: { 'hd 1024x1024': 8, hd: 7, '512x512': 2, default: 4 } } },
        one: { ...images, price: { per_image: 3 } },
        dearest: { ...images, price: { per_image: { '256x256': 1, '1024x1024': 5 } } },
        unpriced: { targets: to('ok') },
        free: { targets: to('ok'), price: 0 },
        embed: { endpoints: ['embeddings'], targets: to('ok') },
        echo: { targets: [{ model: 'local-echo' }] },
        backed: { targets: to('status-500'), fallbacks: ['unpriced'], price: PRICE },
      },
    };
  }),
);
const client = createClient(gateway);

type Sent = { model: string; raw?: string; dies?: boolean; body?: object; path?: string; leavesAt?: string };

/** Asks with a key of its own; returns its account. */
async function charge({ model, raw, dies, body, path, leavesAt }: Sent) {
  const { id, key } = await client.newKey({});
  const leaving = new AbortController();
  const mock =
    raw === undefined
      ? {}
      : { mock: { raw: Buffer.from(raw).toString('base64'), size: 65_536, ms: 200, ...(dies && { dies }) } };
  const response = await client.ask(model, {
    key,
    body: { stream: raw !== undefined, ...mock, ...body },
    signal: leaving.signal,
    ...(path === undefined ? {} : { path }),
  });
  expect(response.status).toBe(200);
  let text = '';
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) break;
    text += value;
    if (leavesAt !== undefined && text.includes(leavesAt)) {
      leaving.abort();
      break;
    }
  }
  const account = await eventually('the account', async () =>
    (await client.usage({ group_by: 'key' })).items.find(({ group }) => group === id),
  );
  return { ...account, text };
}

const events = (...all: object[]): string => all.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('');
const delta = (said: object, finish_reason: string | null = null) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: said, finish_reason }],
});
const WORDS = Array.from({ length: 6000 }, (_, index) => `word${index % 10}`).join(' ');
const TOKENS = Math.ceil(WORDS.length / 4);

describe('a stream that is broken off', () => {
  const members = ['content', 'reasoning_content', 'reasoning', 'refusal'];
  for (const name of members)
    test(`counts the bytes of its ${name}`, async () => {
      const raw = events(delta({ role: 'assistant' }), delta({ [name]: WORDS }));
      const { completion_tokens: tokens, estimated } = await charge({ model: 'raw', raw, dies: true });
      expect([tokens, estimated]).toEqual([TOKENS, 1]);
    });

  test('counts the arguments of tools, and texts of completions', async () => {
    const call = { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: WORDS } };
    const called = await charge({ model: 'raw', raw: events(delta({ tool_calls: [call] })), dies: true });
    expect(called.completion_tokens).toBeWithin(TOKENS, TOKENS + 3);
    const raw = events({
      id: 'c',
      object: 'text_completion',
      choices: [{ index: 0, text: WORDS, finish_reason: null }],
    });
    const path = '/v1/completions';
    const said = await charge({
      model: 'raw',
      raw,
      dies: true,
      path,
      body: { prompt: 'p', messages: undefined },
    });
    expect(said.completion_tokens).toBe(TOKENS);
  });

  test('counts its events where these are more, and characters however they are written', async () => {
    const letters = Array.from({ length: 40 }, () => delta({ content: 'a' }));
    expect((await charge({ model: 'raw', raw: events(...letters), dies: true })).completion_tokens).toBe(40);
    const said = '漢字\n'.repeat(1000);
    const escaped = events(delta({ content: said })).replaceAll(
      /[漢字]/g,
      (each) => `\\u${each.charCodeAt(0).toString(16)}`,
    );
    expect((await charge({ model: 'raw', raw: escaped, dies: true })).completion_tokens).toBe(7000 / 4);
  });

  test('counts no log probabilities, names and ids', async () => {
    const logprobs = {
      content: [{ token: WORDS, logprob: -1, top_logprobs: [{ token: WORDS, logprob: -2 }] }],
    };
    const chunk = delta({ role: WORDS, content: 'four' });
    const raw = events({
      ...chunk,
      id: WORDS,
      choices: chunk.choices.map((each) => ({ ...each, logprobs })),
    });
    expect((await charge({ model: 'raw', raw, dies: true })).completion_tokens).toBe(1);
  });

  test('costs what its upstream has told, and what came since', async () => {
    const usage = { prompt_tokens: 1000, completion_tokens: 50, total_tokens: 1050 };
    const raw = events({ ...delta({ content: 'a' }), usage }, delta({ content: WORDS }));
    const account = await charge({ model: 'raw', raw, dies: true });
    expect(account).toMatchObject({ prompt_tokens: 1000, completion_tokens: 50 + TOKENS });
  });
});

describe('a stream of Anthropic', () => {
  const usage = {
    input_tokens: 100_000,
    cache_read_input_tokens: 2000,
    cache_creation_input_tokens: 50,
    output_tokens: 1,
  };
  const start = { type: 'message_start', message: { id: 'm', role: 'assistant', content: [], usage } };
  const say = (said: object) => ({ type: 'content_block_delta', index: 0, delta: said });
  const text = [
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    say({ type: 'text_delta', text: 'hello' }),
  ];
  const end = [
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5000 } },
    { type: 'message_stop' },
  ];
  const thought = 'hmm '.repeat(400);
  const chargeFor = async (sent: object[], rest: Partial<Sent> = {}) => {
    const raw = Buffer.from(events(...sent)).toString('base64url');
    const ending = rest.dies === true ? '+dies=true+ms=200' : '';
    await gateway.mock.strike('claude', `raw+raw=${raw}+size=65536${ending}`);
    return charge({ model: 'claude', ...rest, body: { stream: true, ...rest.body } });
  };

  for (const options of [undefined, { include_usage: true }])
    test(`costs what it tells, ${options === undefined ? 'unasked' : 'asked'}`, async () => {
      const account = await chargeFor([start, ...text, ...end], { body: { stream_options: options } });
      expect(account.text.includes('prompt_tokens')).toBe(options !== undefined);
      expect(account).toMatchObject({ estimated: 0, prompt_tokens: 102_050, completion_tokens: 5000 });
      expect(account.cost).toBeCloseTo(100_000 + 200 + 100 + 5000, 5);
    });

  test('that is left costs the prompt that it told, and what was said, thoughts included', async () => {
    const thinking = say({ type: 'thinking_delta', thinking: thought });
    const dead = await chargeFor([start, thinking, ...text], { dies: true });
    expect(dead).toMatchObject({ prompt_tokens: 102_050, estimated: 1 });
    expect(dead.completion_tokens).toBeWithin(400, 410);
    const left = await chargeFor([start, ...text], { dies: true, leavesAt: 'hello' });
    expect(left.prompt_tokens).toBe(102_050);
  });

  test('a whole answer has prices for reading and writing its cache, too', async () => {
    expect((await charge({ model: 'whole' })).cost).toBeCloseTo(3 + 200, 5);
  });
});

describe('pictures', () => {
  const untold = async (model: string, body: object) => {
    const raw = events({ type: 'image_generation.completed', b64_json: 'A'.repeat(100) });
    return charge({
      model,
      path: '/v1/images/generations',
      raw,
      body: { prompt: 'a cat', messages: undefined, ...body },
    });
  };

  test('that are streamed cost the tokens that are told', async () => {
    const told = {
      total_tokens: 60,
      input_tokens: 10,
      output_tokens: 50,
      input_tokens_details: { text_tokens: 10 },
    };
    const raw = events({ type: 'image_generation.completed', b64_json: 'A'.repeat(100_000), usage: told });
    const account = await untold('raw', {});
    expect(account.completion_tokens).toBe(1000);
    const body = { prompt: 'a cat', messages: undefined };
    expect(await charge({ model: 'raw', path: '/v1/images/generations', raw, body })).toMatchObject({
      prompt_tokens: 10,
      completion_tokens: 50,
      cost: 60,
      estimated: 0,
    });
  });

  test('without usage cost what was reserved for them', async () => {
    const account = await untold('raw', { n: 5 });
    expect(account).toMatchObject({ completion_tokens: 5000, estimated: 1 });
    expect(account.cost).toBeGreaterThan(5000);
  });

  const prices: [model: string, body: object, cost: number][] = [
    ['one', {}, 3],
    ['one', { n: 4, size: '1024x1024' }, 12],
    ['pictures', {}, 4],
    ['pictures', { quality: 'hd', size: '1024x1024' }, 8],
    ['pictures', { quality: 'hd', size: '9x9' }, 7],
    ['pictures', { quality: 'hd', size: '512x512', n: 2 }, 4],
    ['dearest', { size: 'auto' }, 5],
    ['dearest', { size: '256x256' }, 1],
  ];
  for (const [model, body, cost] of prices)
    test(`have a price of their own: ${model} ${JSON.stringify(body)}`, async () => {
      expect((await untold(model, body)).cost).toBe(cost);
    });

  test('count in prompts where they stand as pictures', async () => {
    const base64 = 'QUJD'.repeat(130_000);
    const promptOf = async (content: unknown) => {
      const raw = events(delta({ content: 'a' }));
      return (
        await charge({ model: 'raw', raw, dies: true, body: { messages: [{ role: 'user', content }] } })
      ).prompt_tokens;
    };
    const url = `data:image/png;base64,${base64}`;
    expect(await promptOf([{ type: 'image_url', image_url: { url } }])).toBeLessThan(2000);
    for (const text of [
      `data: ${'word '.repeat(100_000)} ${base64.slice(0, 128)}`,
      `data:image/png;base64,${'word '.repeat(100_000)}${base64.slice(0, 512)}`,
      `say "data:image/png;base64,${base64}`,
      url,
    ]) {
      expect(await promptOf(text)).toBeGreaterThan(text.length / 4);
      expect(await promptOf([{ type: 'text', text }])).toBeGreaterThan(text.length / 4);
    }
  });
});

describe('a key with a budget', () => {
  test('is refused for a model without a price, by a sentence that names the setting', async () => {
    const { key } = await client.newKey({ budget_per_month: 1000 });
    for (const stream of [false, true]) {
      const refused = await errorOf(await client.ask('unpriced', { key, body: { stream } }));
      expect(refused).toMatchObject({ status: 400, code: 'model_without_price', param: 'model' });
      expect(refused.message).toContain('MODELS_CONFIG');
      expect(refused.message).toContain("'price'");
    }
    const input = { input: ['a'], messages: undefined };
    const embedded = await client.ask('embed', { key, path: '/v1/embeddings', body: input });
    expect(await errorOf(embedded)).toMatchObject({ status: 400, code: 'model_without_price' });
    for (const model of ['free', 'echo', 'ok']) expect((await client.ask(model, { key })).status).toBe(200);
    expect((await client.ask('unpriced')).status).toBe(200);
    const { key: limited } = await client.newKey({ tokens_per_minute: 1000 });
    expect((await client.ask('unpriced', { key: limited })).status).toBe(200);
  });

  test('pays for a fallback without a price what was asked for', async () => {
    const { key } = await client.newKey({ budget_per_month: 1 });
    expect((await client.ask('backed', { key })).status).toBe(200);
    expect((await errorOf(await client.ask('backed', { key }))).code).toBe('insufficient_quota');
  });
});
