// The proxy that tests put before databases and stores: what it is told to do to a connection, it does, and no more.

import { expect, test } from 'bun:test';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { eventually } from '../support/child.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

type Client = { send(text: string): void; received(): string; ending(): string | undefined };

/** A server that answers each chunk with it in brackets, behind a proxy; `seen` is all that it has heard. */
async function withEcho(run: (proxy: TcpProxy, seen: () => string) => Promise<void>): Promise<void> {
  let seen = '';
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    socket.on('data', (data) => {
      seen += data;
      socket.write(`[${data}]`);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  await using proxy = await startTcpProxy(`tcp://127.0.0.1:${(server.address() as AddressInfo).port}`);
  try {
    await run(proxy, () => seen);
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

async function open({ port }: TcpProxy): Promise<Client> {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  let ending: string | undefined;
  socket.on('data', (data) => {
    received += data;
  });
  socket.on('error', (error) => {
    ending = (error as { code?: string }).code;
  });
  socket.on('close', () => {
    ending ??= 'closed';
  });
  await once(socket, 'connect');
  return { send: (text) => void socket.write(text), received: () => received, ending: () => ending };
}

const hears = (client: Client, text: string): Promise<unknown> =>
  eventually(`the client to hear ${text}, not ${client.received()}`, () => client.received() === text);
const ends = (client: Client): Promise<string> => eventually('the connection to end', client.ending);

test('a healthy proxy passes bytes both ways, and a closed side closes the other', () =>
  withEcho(async (proxy) => {
    const client = await open(proxy);
    client.send('a');
    await hears(client, '[a]');
    expect(proxy.connections()).toBe(1);
    await proxy.close();
    expect(await ends(client)).toBe('closed');
  }));

test('a cut closes what is open and what comes, until it is healed', () =>
  withEcho(async (proxy) => {
    const before = await open(proxy);
    proxy.cut();
    await ends(before);
    await ends(await open(proxy));
    proxy.heal();
    const after = await open(proxy);
    after.send('b');
    await hears(after, '[b]');
  }));

test('what a cut direction has lost ends the connection at the healing', () =>
  withEcho(async (proxy, seen) => {
    const [speaking, silent] = [await open(proxy), await open(proxy)];
    proxy.cut('down');
    speaking.send('x');
    await eventually('the server to hear it', () => seen() === 'x');
    await Bun.sleep(30);
    expect([speaking.received(), speaking.ending()]).toEqual(['', undefined]);
    proxy.heal();
    expect(await ends(speaking)).toBe('ECONNRESET');
    silent.send('y');
    await hears(silent, '[y]');
  }));

test('a stalled direction keeps bytes, and gives them on in order', () =>
  withEcho(async (proxy, seen) => {
    const client = await open(proxy);
    proxy.stall('up');
    client.send('a');
    await Bun.sleep(30);
    client.send('b');
    await Bun.sleep(30);
    expect(seen()).toBe('');
    proxy.heal();
    await eventually('the server to hear both', () => seen() === 'ab');
    proxy.stall('down');
    client.send('c');
    await eventually('the server to hear it', () => seen() === 'abc');
    await Bun.sleep(30);
    expect(client.received()).not.toContain('c');
    proxy.heal();
    await eventually('the client to hear it', () => client.received().endsWith('[c]'));
  }));

test('a delay makes bytes late, not lost, and healing ends it', () =>
  withEcho(async (proxy) => {
    const client = await open(proxy);
    proxy.delay(60);
    const begun = performance.now();
    client.send('a');
    await hears(client, '[a]');
    expect(performance.now() - begun).toBeGreaterThanOrEqual(115);
    proxy.delay(60_000);
    client.send('b');
    await Bun.sleep(30);
    proxy.heal();
    await hears(client, '[a][b]');
  }));

test('a reset ends what is open, and nothing else', () =>
  withEcho(async (proxy) => {
    const client = await open(proxy);
    client.send('a');
    await hears(client, '[a]');
    proxy.reset();
    expect(await ends(client)).toBe('ECONNRESET');
    const next = await open(proxy);
    next.send('b');
    await hears(next, '[b]');
  }));

test('of the next request that fits the server hears, and its sender never gets the answer', () =>
  withEcho(async (proxy, seen) => {
    const [committing, other] = [await open(proxy), await open(proxy)];
    const lost = proxy.loseNextAnswer(/commit/i);
    other.send('select');
    await hears(other, '[select]');
    committing.send('COMMIT');
    await lost;
    expect(await ends(committing)).toBe('ECONNRESET');
    expect(committing.received()).toBe('');
    expect(seen()).toBe('selectCOMMIT');
    other.send('commit');
    await hears(other, '[select][commit]');
  }));
