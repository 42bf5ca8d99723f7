// An upstream that takes few requests at once, and one workspace that would have all of it.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createConnection, type Socket } from 'node:net';
import { eventually } from '../../support/child.ts';
import { type RunningGateway, startGateway } from '../../support/gateway.ts';
import { type Client, createClient } from './client.ts';

const MAX = 4;

let gateway: RunningGateway;
let client: Client;
let others: string;
beforeAll(async () => {
  gateway = await startGateway((mockUrl) => {
    const upstream = (queue: number) => ({
      base_url: `${mockUrl}/v1`,
      retries: 0,
      concurrency: { max: MAX, queue },
    });
    const names = ['unread', 'trickled', 'crowded', 'shared'];
    return {
      upstreams: Object.fromEntries(names.map((name) => [name, upstream(name === 'crowded' ? 6 : 64)])),
      models: Object.fromEntries(
        names.map((name) => [name, { targets: [{ upstream: name, model: `ok+words=100000+key=${name}` }] }]),
      ),
    };
  });
  client = createClient(gateway);
  await client.call('POST', '/admin/api/workspaces', { key: gateway.key, json: { id: 'others' } });
  const made = await client.call('POST', '/admin/api/workspaces/others/keys', {
    key: gateway.key,
    json: { name: 'test', scopes: ['models'] },
  });
  others = (JSON.parse(made.text) as { key: string }).key;
});
afterAll(() => gateway[Symbol.asyncDispose]());

const running = async (key: string): Promise<number> => (await gateway.mock.state(key)).running;

/** A request for a long stream whose answer nobody reads. */
function sendUnread(model: string): Socket {
  const { hostname, port } = new URL(gateway.url);
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'a' }] });
  const socket = createConnection({ host: hostname, port: Number(port) });
  socket.on('error', () => undefined);
  socket.pause();
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${gateway.key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  return socket;
}

const short = { mock: { fault: 'ok', words: 3, key: 'short' } };

describe('streams of one workspace that hold every permit', () => {
  test('end if nobody reads them while another workspace waits', async () => {
    const sockets = Array.from({ length: MAX }, () => sendUnread('unread'));
    try {
      await eventually('all of them', async () => (await gateway.mock.state('unread')).requests === MAX);
      expect((await client.ask('unread', { key: others, body: short })).status).toBe(200);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });

  test('end also if they are read a little now and then', async () => {
    const sockets = Array.from({ length: MAX }, () => sendUnread('trickled'));
    const trickle = setInterval(() => {
      for (const socket of sockets) socket.read(64);
    }, 100);
    try {
      await eventually('all of them', async () => (await gateway.mock.state('trickled')).requests === MAX);
      expect((await client.ask('trickled', { key: others, body: short })).status).toBe(200);
    } finally {
      clearInterval(trickle);
      for (const socket of sockets) socket.destroy();
    }
  });
});

test('a queue that one workspace has filled has room for another, which is next', async () => {
  const body = { mock: { fault: 'held', key: 'held' } };
  const inOrder: string[] = [];
  const ask = async (who: string, key?: string): Promise<number> => {
    const response = await client.ask('crowded', { key, body });
    inOrder.push(`${who} ${response.status}`);
    return response.status;
  };
  const own = Array.from({ length: MAX + 6 }, () => ask('own'));
  await eventually('the requests', async () => (await running('held')) === MAX);
  const other = ask('other', others);
  // The newest of those that wait makes room for it.
  await eventually('the refusal', () => inOrder.includes('own 503')).finally(() =>
    gateway.mock.release('held'),
  );
  expect(await other).toBe(200);
  await Promise.all(own);
  // On a slow machine some of them have also waited for too long.
  expect(inOrder[0]).toBe('own 503');
});

test('once two workspaces use it, neither takes all of it', async () => {
  expect((await client.ask('shared', { key: others, body: short })).status).toBe(200);
  const body = { mock: { fault: 'held', key: 'reserved' } };
  const held = Array.from({ length: MAX }, () => client.ask('shared', { body }));
  try {
    await eventually('its share', async () => (await running('reserved')) === MAX - 1);
    expect((await client.ask('shared', { key: others, body: short })).status).toBe(200);
  } finally {
    await gateway.mock.release('reserved');
  }
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual(Array(MAX).fill(200));
});
