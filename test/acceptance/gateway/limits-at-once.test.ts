// Limits of keys hold for requests that run at the same time: what they may use is reserved before they are asked for.

import { describe, expect, test } from 'bun:test';
import { eventually, freePort } from '../../support/child.ts';
import { type ModelsFile, startGateway } from '../../support/gateway.ts';
import { WORKSPACE } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';
import { createClient, errorOf } from './client.ts';

/** With its prompt of three words, an answer of this model has a thousand tokens: so it costs 1. */
const THOUSAND = 'slow+ms=700+words=997';
const PRICE = { input_per_million: 1000, output_per_million: 1000 };

const modelsFile = (mockUrl: string): ModelsFile => {
  const to = (model: string) => ({ targets: [{ upstream: 'mock', model }], price: PRICE });
  return {
    upstreams: {
      mock: { base_url: `${mockUrl}/v1`, retries: 0 },
      narrow: { base_url: `${mockUrl}/v1`, retries: 0, embedding_inputs_max: 2 },
    },
    models: {
      thousand: to(THOUSAND),
      conversed: to('held+words=997+key=conversed'),
      long: to('slow+ms=6000+words=997'),
      cheap: {
        targets: [{ upstream: 'mock', model: 'status-500' }],
        fallbacks: ['thousand'],
        // A key with a budget is refused for a model without a price.
        price: { input_per_million: 0, output_per_million: 0 },
      },
      failing: to('status-500'),
      refusing: to('status-400'),
      hanging: to('hang'),
      kept: { ...to(THOUSAND), cache: { ttl_seconds: 60 } },
      embed: { ...to('held+key=embed'), endpoints: ['embeddings'] },
      parts: {
        endpoints: ['embeddings'],
        price: PRICE,
        targets: [{ upstream: 'narrow', model: 'held+key=parts' }],
      },
    },
    defaults: { chat: 'conversed' },
  };
};

const gateway = await shared(startGateway(modelsFile));
const client = createClient(gateway);

const fortyAtOnce = (ask: () => Promise<Response>): Promise<Response[]> =>
  Promise.all(Array.from({ length: 40 }, ask));

const REFUSED = 429;

/** The answers, of which the model gives its own once so many others are refused. */
async function releasedAfter(
  refusals: number,
  { asked, key }: { asked: Promise<Response>[]; key: string },
): Promise<Response[]> {
  let refused = 0;
  for (const each of asked) void each.then(({ status }) => (refused += Number(status === REFUSED)));
  await eventually(`${refusals} refusals`, () => refused === refusals).finally(() =>
    gateway.mock.release(key),
  );
  return Promise.all(asked);
}

/** Of forty at once all but one are refused while that one runs. */
function fortyAgainstOne(ask: (body: { mock: object }) => Promise<Response>): Promise<Response[]> {
  const key = crypto.randomUUID();
  const asked = Array.from({ length: 40 }, () => ask({ mock: { fault: 'held', key } }));
  return releasedAfter(39, { asked, key });
}

const statusesOf = (answers: readonly Response[]): number[] => [
  ...new Set(answers.map(({ status }) => status)),
];

const countAnswered = (answers: readonly Response[]): number =>
  answers.filter(({ status }) => status === 200).length;

const BODIES: [name: string, body: Record<string, unknown>][] = [
  ['whole', {}],
  ['whole, with a bound', { max_tokens: 997 }],
  ['streamed', { stream: true }],
];

for (const [name, body] of BODIES) {
  test(`of 40 at once that use 1,000 tokens each, a limit of 1,000 tokens a minute answers one: ${name}`, async () => {
    const { key } = await client.newKey({ tokens_per_minute: 1000 });
    const answers = await fortyAgainstOne((held) =>
      client.ask('thousand', { key, body: { ...body, ...held } }),
    );
    expect(countAnswered(answers)).toBe(1);
    expect(statusesOf(answers).sort()).toEqual([200, 429]);
    for (const answer of answers) {
      if (answer.status === 200) await answer.text();
      else {
        expect(answer.headers.get('x-ratelimit-remaining-tokens')).toBe('0');
        expect(answer.headers.get('retry-after')).toBe('1');
        expect(await errorOf(answer)).toMatchObject({ code: 'rate_limit_exceeded', type: 'tokens' });
      }
    }
  });

  test(`of 40 at once that cost 1 each, a budget of 1.5 answers two: ${name}`, async () => {
    const { key } = await client.newKey({ budget_per_month: 1.5 });
    const answers = await fortyAtOnce(() => client.ask('thousand', { key, body }));
    expect(countAnswered(answers)).toBe(2);
    for (const answer of answers) {
      if (answer.status === 200) await answer.text();
      else
        expect(await errorOf(answer)).toMatchObject({
          status: 429,
          code: 'insufficient_quota',
          type: 'insufficient_quota',
        });
    }
  });
}

test('the dearest model that may come to answer is reserved: a fallback is not a way around a budget', async () => {
  const { key } = await client.newKey({ budget_per_month: 1.5 });
  const answers = await fortyAtOnce(() => client.ask('cheap', { key }));
  expect(countAnswered(answers)).toBe(2);
  for (const answer of answers) await answer.text();
});

test('each of several answers to one request is reserved', async () => {
  const { key } = await client.newKey({ tokens_per_minute: 1000 });
  const body = { n: 10, max_tokens: 100 };
  const answers = await fortyAgainstOne((held) =>
    client.ask('thousand', { key, body: { ...body, ...held } }),
  );
  expect(countAnswered(answers)).toBe(1);
  for (const answer of answers) await answer.text();
});

test('embeddings at once, and in parts, are reserved', async () => {
  const { key } = await client.newKey({ tokens_per_minute: 1000 });
  const input = Array.from({ length: 8 }, () => 'seven words that are said again '.repeat(16));
  const body = { input, messages: undefined };
  const forty = (model: string, path: string, by: string) =>
    Array.from({ length: 40 }, () => client.ask(model, { key: by, path, body }));
  const answered = await releasedAfter(39, { asked: forty('embed', '/v1/embeddings', key), key: 'embed' });
  expect(countAnswered(answered)).toBe(1);
  for (const answer of answered) await answer.text();
  // From here on the model answers at once; what the first one has left is enough for one more at most.
  const more = await Promise.all(forty('embed', `/${WORKSPACE}/v1/embeddings`, key));
  expect(countAnswered(more)).toBeLessThanOrEqual(1);
  for (const answer of more) await answer.text();
  const { key: other } = await client.newKey({ tokens_per_minute: 1000 });
  const { requests: before } = await gateway.mock.state('parts');
  const asked = forty('parts', '/v1/embeddings', other);
  const answers = await releasedAfter(39, { asked, key: 'parts' });
  expect(countAnswered(answers)).toBe(1);
  for (const answer of answers) await answer.text();
  // Four parts of one request; of those that were refused no part was asked for.
  expect((await gateway.mock.state('parts')).requests - before).toBe(4);
  // All parts count: 8 times 96 words.
  const next = await client.ask('embed', { key: other, path: '/v1/embeddings', body });
  expect(Number(next.headers.get('x-ratelimit-remaining-tokens'))).toBeLessThan(1000 - 768 + 50);
  await next.text();
});

describe('what was reserved comes back', () => {
  const limits = { tokens_per_minute: 1000, budget_per_month: 10 };
  const body = { max_tokens: 1000 };
  /** So much that it takes half a minute until all of its tokens are given back. */
  const messages = [{ role: 'user', content: 'many words '.repeat(200) }];
  for (const model of ['failing', 'refusing']) {
    test(`all of it from a request that used nothing: ${model}`, async () => {
      const { key } = await client.newKey(limits);
      for (let index = 0; index < 10; index++) {
        const answer = await client.ask(model, { key, body });
        expect([400, 500]).toContain(answer.status);
        expect(answer.headers.get('x-ratelimit-remaining-tokens')).toBe('1000');
        await answer.text();
      }
    });
  }

  for (const stream of [false, true]) {
    test(`from a request whose client leaves: ${stream ? 'streamed' : 'whole'}`, async () => {
      const { key } = await client.newKey(limits);
      const leaving = new AbortController();
      const left = client.ask('hanging', {
        key,
        signal: leaving.signal,
        body: { ...body, stream, messages },
      });
      left.catch(() => undefined);
      await eventually('the limit to be reserved', async () => {
        const answer = await client.ask('failing', { key });
        await answer.text();
        return answer.status === 429;
      });
      leaving.abort();
      const next = await eventually('the limit to be free', async () => {
        const answer = await client.ask('failing', { key });
        await answer.text();
        return answer.status === 500 && answer;
      });
      // The prompt was sent: that much is counted.
      const remaining = Number(next.headers.get('x-ratelimit-remaining-tokens'));
      expect(remaining).toBeGreaterThan(100);
      expect(remaining).toBeLessThan(1000);
    });
  }

  test('as what was used: the headers of the answer tell it', async () => {
    const { key } = await client.newKey({ tokens_per_minute: 100_000 });
    const answer = await client.ask('thousand', { key, body: { max_tokens: 50_000 } });
    await answer.text();
    const remaining = Number(answer.headers.get('x-ratelimit-remaining-tokens'));
    expect(remaining).toBeGreaterThanOrEqual(99_000);
    expect(remaining).toBeLessThan(99_100);
  });
});

test('answers that are kept reserve nothing', async () => {
  const { key } = await client.newKey({ tokens_per_minute: 5000 });
  const answers = await fortyAtOnce(() => client.ask('kept', { key, body: { temperature: 0 } }));
  expect(statusesOf(answers)).toEqual([200]);
  for (const answer of answers) await answer.text();
});

test('conversations at once are under the limits of their key', async () => {
  const { key } = await client.newKey({ tokens_per_minute: 1000 }, ['chat']);
  const messages = `/api/v1/chat/messages`;
  const place = `${WORKSPACE}/web/widget/shop`;
  const send = async (path: string, body: object): Promise<Response> =>
    fetch(`${gateway.url}${messages}/${path}`, {
      method: 'POST',
      headers: { 'svc-key': key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const sessions = Array.from({ length: 8 }, (_, index) => `at-once-${index}`);
  for (const channel_session_id of sessions) {
    const made = await send(`create-chat-session/${place}`, { agi_id: 'helper', channel_session_id });
    expect(made.status).toBe(200);
  }
  const asked = sessions.map((session) =>
    send(`send-message/${place}/bychannelsession/${session}`, {
      message: 'one two three',
      channel_user_message_id: '1',
      channel_assistant_message_id: '2',
    }),
  );
  const answers = await releasedAfter(sessions.length - 1, { asked, key: 'conversed' });
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(7).fill(429)]);
});

test('two processes answer together no more than arrives before they have told each other', async () => {
  await using own = await startGateway(modelsFile, { PROCESSES: '2', PORT: String(freePort()) });
  const asking = createClient(own);
  const { key } = await asking.newKey({ budget_per_month: 1.5 });
  const readLeft = async (): Promise<number> => {
    const headers = { authorization: `Bearer ${key}`, connection: 'close' };
    const read = await (await fetch(`${own.url}/v1/me`, { headers })).json();
    return (read as { remaining: { budget_per_month: { remaining: number } } }).remaining.budget_per_month
      .remaining;
  };
  const nothingIsLeft = async (): Promise<boolean> =>
    (await Promise.all(Array.from({ length: 16 }, readLeft))).every((left) => left === 0);
  const begun: Promise<Response>[] = [];
  // Each that is taken runs for longer than all of this takes.
  for (let round = 0; round < 8; round++) {
    let refusals = 0;
    for (let index = 0; index < 8; index++) {
      const asked = asking.ask('long', { key, headers: { connection: 'close' } });
      begun.push(asked);
      void asked.then(({ status }) => {
        if (status === 429) refusals += 1;
      });
    }
    // Two in each process at most, and none once they have told each other.
    const refusedMin = round === 0 ? 4 : 8;
    await eventually(`the refusals of round ${round}`, () => refusals >= refusedMin);
    if (round === 0) await eventually('each process to know that nothing is left', nothingIsLeft);
  }
  const answers = await Promise.all(begun);
  expect(countAnswered(answers)).toBeGreaterThanOrEqual(1);
  expect(countAnswered(answers)).toBeLessThanOrEqual(4);
  for (const answer of answers) await answer.text();
});
