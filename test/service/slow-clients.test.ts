// Slow clients against a real service: what they hold, and that others are answered beside them. The unread answers are asked for at
// the start, and are looked at last: they are cut off after a minute.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createCaller, expectStatus } from '../acceptance/support/caller.ts';
import { openRawClient, type RawClient } from '../faults/support/raw-client.ts';
import { eventually } from '../support/child.ts';
import { type RunningGateway, startGateway } from '../support/gateway.ts';
import { BOOTSTRAP_KEY, WORKSPACE } from '../support/service.ts';

/** Places of the class `write` of one process. */
const WRITE_PLACES = 128;
/** Twice the time after which an unread answer is cut off. */
const UNREAD_MS_MAX = 120_000;
/** A stream of so many events of such a size is more than the kernel takes for a client that reads nothing. */
const [EVENTS, EVENT_LENGTH] = [140, 65_536];

let gateway: RunningGateway;
const clients: RawClient[] = [];
const unread: Record<string, RawClient> = {};

const AUTHORIZED = `host: atrium\r\nauthorization: Bearer ${BOOTSTRAP_KEY}\r\nAPIKeyHeader: ${BOOTSTRAP_KEY}\r\n`;

function post(target: string, body: string, type = 'application/json', length = body.length): string {
  return `POST ${target} HTTP/1.1\r\n${AUTHORIZED}content-type: ${type}\r\ncontent-length: ${length}\r\n\r\n${body}`;
}

async function open(text: string): Promise<RawClient> {
  const client = await openRawClient(gateway.url);
  clients.push(client);
  client.send(text);
  return client;
}

const ask = (model: string, own: object = {}): string =>
  post(
    '/v1/chat/completions',
    JSON.stringify({ model, messages: [{ role: 'user', content: 'Good morning' }], ...own }),
  );

const content = 'a'.repeat(EVENT_LENGTH);
const event = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
const LONG = {
  stream: true,
  mock: { raw: Buffer.from(event.repeat(EVENTS)).toString('base64'), size: EVENT_LENGTH },
};

async function metric(series: string): Promise<number> {
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  const row = text.split('\n').find((each) => each.startsWith(`${series} `));
  return Number(row?.split(' ').at(-1));
}

/** Requests of a class that have a place. */
const running = (work: string) => metric(`atrium_admission_running{work="${work}"}`);

beforeAll(async () => {
  const upstream = (mock: string, own: object) => ({
    base_url: `${mock}/v1`,
    retries: 0,
    concurrency: { max: 1, queue: 10 },
    ...own,
  });
  gateway = await startGateway((mock) => ({
    upstreams: {
      patient: upstream(mock, {}),
      other: upstream(mock, {}),
      free: upstream(mock, {}),
      strict: upstream(mock, { timeout_ms: { reader: 500 } }),
    },
    models: {
      long: { targets: [{ upstream: 'patient', model: 'raw' }] },
      big: { targets: [{ upstream: 'other', model: 'big+mb=14' }] },
      // An upstream of its own: on a busy machine the big answer takes longer than a request waits for its upstream.
      ok: { targets: [{ upstream: 'free', model: 'ok' }] },
      'strict-long': { targets: [{ upstream: 'strict', model: 'raw' }] },
      'strict-ok': { targets: [{ upstream: 'strict', model: 'ok' }] },
    },
  }));
  unread['a stream'] = await open(ask('long', LONG));
  unread['a stream'].stopReading();
  unread['a whole answer'] = await open(ask('big'));
  unread['a whole answer'].stopReading();
  unread['a connection after its answer'] = await open(ask('ok'));
  await eventually('the answers to have begun', async () => {
    const answered = unread['a connection after its answer']?.received().startsWith('HTTP/1.1 200 ');
    return answered && (await running('model')) === 1;
  });
});
afterAll(async () => {
  for (const client of clients) client.leave();
  await gateway?.[Symbol.asyncDispose]();
});

test('senders whose bodies do not come to an end take no permit', async () => {
  const event = JSON.stringify({ specversion: '1.0', id: 'a', source: 'slow', type: 'a.b', data: {} });
  const target = `/api/v1/workspace_metric/${WORKSPACE}/events`;
  const senders = await Promise.all([
    ...Array.from({ length: WRITE_PLACES }, () =>
      open(post(target, event.slice(0, 20), 'application/cloudevents+json', event.length)),
    ),
    open(post('/v1/chat/completions', '{', 'application/json', 100)),
    open(post(`/${WORKSPACE}/v1/embeddings`, '{', 'application/json', 100)),
    open(post('/mcp', '{', 'application/json', 100)),
    open(post(`/chatapp/${WORKSPACE}/nobody`, '{', 'application/json', 100)),
  ]);
  const call = createCaller(gateway.url);
  const headers = {
    'content-type': 'application/cloudevents+json',
    authorization: `Bearer ${BOOTSTRAP_KEY}`,
  };
  // More than once, so that what the senders sent has been looked at.
  for (const id of ['b', 'c']) {
    const json = { ...JSON.parse(event), id };
    expectStatus(await call('POST', target, { headers, json }), 202);
  }
  expect(await running('write')).toBe(0);
  // The unread stream has one, until it is cut off.
  expect(await running('model')).toBeLessThanOrEqual(1);
  for (const sender of senders) sender.leave();
});

test('a caller that does not read a stream keeps its upstream from nobody', async () => {
  const reader = await open(ask('strict-long', LONG));
  reader.stopReading();
  const asked = () => metric('atrium_model_requests_running{upstream="strict",state="running"}');
  await eventually('it to have its upstream', async () => (await asked()) === 1);
  const other = await open(ask('strict-ok'));
  await eventually('the answer of the other', () => other.received().startsWith('HTTP/1.1 200 '));
  expect(reader.isClosed()).toBe(false);
  await eventually('the place to be returned', async () => (await running('model')) <= 1);
  reader.readOn();
  await eventually('the end of what it gets', () =>
    reader.received().includes('The caller has read too slowly'),
  );
  other.leave();
  reader.leave();
});

test('answers that nobody reads are cut off after a minute, and so is a connection that says nothing more', async () => {
  const left = () => Object.keys(unread).filter((name) => unread[name]?.isClosed() === false);
  // A client that has stopped reading sees the end only when it reads on.
  await eventually(
    'the service to end the stream',
    async () => (await running('model')) === 0,
    UNREAD_MS_MAX,
  );
  for (const client of Object.values(unread)) client.readOn();
  await eventually('the service to close the connections', () => left().length === 0, UNREAD_MS_MAX).catch(
    () => expect(left()).toEqual([]),
  );
});
