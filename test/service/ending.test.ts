// The end of the service, asked for or not: what runs is finished, and nothing is left that the next start trips over.

import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { type Child, eventually, freePort, freeze, startChild } from '../support/child.ts';
import { freshFolder } from '../support/folders.ts';
import {
  BOOTSTRAP_KEY,
  isService,
  MAIN,
  type RunningService,
  startService,
  WORKSPACE,
} from '../support/service.ts';

const KEY = { APIKeyHeader: BOOTSTRAP_KEY };
const JSON_BODY = { ...KEY, 'content-type': 'application/json' };

type Exchange = { socket: Socket; text(): string; closed: Promise<void> };

/** A connection on which a test says when it sends and when it reads. */
function open(url: string, head: string[]): Exchange {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(Buffer.from(chunk as Buffer)));
  socket.on('error', () => {});
  socket.write(`${head.join('\r\n')}\r\nhost: localhost\r\nAPIKeyHeader: ${BOOTSTRAP_KEY}\r\n\r\n`);
  return {
    socket,
    text: () => Buffer.concat(chunks).toString('latin1'),
    closed: new Promise((resolve) => socket.on('close', () => resolve())),
  };
}

/** A confirm that the service is at work on: it has asked for the body. */
async function beginRequest(url: string): Promise<Exchange> {
  const exchange = open(url, [
    `POST /v1/${WORKSPACE}/upload/confirm HTTP/1.1`,
    'connection: close',
    'content-type: application/json',
    'content-length: 2',
    'expect: 100-continue',
  ]);
  await eventually('the service to read the body', () => exchange.text().includes('100 Continue'));
  return exchange;
}

const ending = (service: RunningService, processes: number) =>
  eventually('the end to begin', () => service.child.output().split('"msg":"ending').length > processes);

/** Confirms and bins a document with so much metadata. */
async function binDocument(url: string, summaryLength: number): Promise<void> {
  const descriptor = await fetch(`${url}/v1/${WORKSPACE}/presigned/url`, { headers: KEY });
  const { url: bucket, fields } = (await descriptor.json()) as {
    url: string;
    fields: Record<string, string>;
  };
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append('file', new Blob(['content']), 'a.txt');
  await fetch(bucket, { method: 'POST', body: form });
  const document_metadata = { name: 'a.txt', summary: 's'.repeat(summaryLength) };
  const confirmed = await fetch(`${url}/v1/${WORKSPACE}/upload/confirm`, {
    method: 'POST',
    headers: JSON_BODY,
    body: JSON.stringify({ temp_key: fields['key'], document_metadata }),
  });
  const { id } = (await confirmed.json()) as { id: string };
  // The client sends a DELETE again by itself where a connection that it had kept closes.
  const binned = await fetch(`${url}/v1/${WORKSPACE}/${id}`, {
    method: 'DELETE',
    headers: KEY,
    keepalive: false,
  });
  expect(binned.status).toBe(204);
}

/** The processes that serve: children of the started one that run the same program. */
async function serving({ child }: RunningService): Promise<number[]> {
  const list = Bun.spawn(['ps', '-o', 'pid=,args=', '--ppid', String(child.pid)], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const lines = (await new Response(list.stdout).text()).split('\n');
  return lines.filter(isService).map((line) => Number.parseInt(line, 10));
}

/** One that has ended, and whose end nobody has asked about yet (a zombie, proc(5)), runs no more. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !existsSync('/proc/self/stat') || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

test('what runs in several processes is finished when the whole group is told to end', async () => {
  const environment = { PROCESSES: '2', PORT: String(freePort()) };
  await using service = await startService({ detached: true, environment, postgres: 'embedded' });
  const requests = await Promise.all(Array.from({ length: 4 }, () => beginRequest(service.url)));
  // As a terminal and systemd do it; the owner then tells its processes once more.
  service.child.kill('SIGTERM');
  await ending(service, 3);
  for (const { socket } of requests) socket.write('{}');
  await Promise.all(requests.map(({ closed }) => closed));
  for (const request of requests) expect(request.text()).toContain('HTTP/1.1 422 ');
  expect(await service.child.exited).toBe(0);
});

test('at a terminal Ctrl-C finishes what runs and says so in one line, and a second one ends at once', async () => {
  for (const again of [false, true]) {
    const command = [process.execPath, 'run', 'start'];
    await using service = await startService({ terminal: true, command, postgres: 'embedded' });
    const request = await beginRequest(service.url);
    const { child } = service;
    const before = child.output().length;
    child.type('\x03');
    await eventually('the word of it', () => child.output().includes('again ends at once'));
    // Not at once: two that come as one are one.
    if (again) {
      await Bun.sleep(400);
      child.type('\x03');
    } else request.socket.write('{}');
    expect(await child.exited).toBe(again ? 130 : 0);
    const told = Bun.stripANSI(child.output().slice(before)).replaceAll('^C', '').trim().split(/\s*\n/);
    const word = /ending: one request is finished first, for 20 s at most; Ctrl-C again ends at once/;
    expect(told[0]).toMatch(word);
    expect(told).toHaveLength(again ? 1 : 2);
    if (!again) expect(told[1]).toMatch(/ POST \/v1\/acme\/upload\/confirm 422 [\d.]+ ms acme key …\w{6}$/);
  }
});

test('an answer that is being read when the end begins is read to its end', async () => {
  await using service = await startService();
  await Promise.all(Array.from({ length: 24 }, () => binDocument(service.url, 1_000_000)));
  const reader = open(service.url, [`GET /v1/${WORKSPACE}/trash HTTP/1.1`, 'connection: close']);
  await eventually('the answer to begin', () => reader.text().includes('\r\n\r\n'));
  reader.socket.pause();
  service.child.kill('SIGTERM');
  await ending(service, 1);
  reader.socket.resume();
  await reader.closed;
  const [, body = ''] = reader.text().split('\r\n\r\n');
  expect((JSON.parse(body) as { count: number }).count).toBe(24);
  expect(await service.child.exited).toBe(0);
});

test('a start that waits for its database ends when it is told to', async () => {
  const dataDir = freshFolder();
  const environment = {
    PORT: '0',
    DATA_DIR: dataDir,
    LOG_FORMAT: 'json',
    DATABASE_URL: `postgres://nobody@127.0.0.1:${freePort()}/none`,
  };
  const child = startChild([process.execPath, MAIN], { environment });
  await eventually('the wait', () => child.output().includes('waiting for it'));
  child.kill('SIGTERM');
  expect(await child.exited).toBe(0);
  expect(child.output()).toContain('ending before the start was complete');
});

test('several processes end when their owner is killed, and the next start has the port to itself', async () => {
  const dataDir = freshFolder();
  const options = { dataDir, environment: { PROCESSES: '2', PORT: String(freePort()) } };
  {
    await using service = await startService(options);
    const orphans = await serving(service);
    expect(orphans).toHaveLength(2);
    process.kill(service.child.pid, 'SIGKILL');
    await eventually('the orphans to end', () => !orphans.some(isRunning));
  }
  {
    await using service = await startService(options);
    const call = () =>
      fetch(`${service.url}/v1/${WORKSPACE}/trash`, { headers: { ...KEY, connection: 'close' } });
    const answers = await Promise.all(Array.from({ length: 24 }, call));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  }
});

test('what a killed owner has left, hung or at work, is not in the way of the next start', async () => {
  const dataDir = freshFolder();
  const options = { dataDir, environment: { PROCESSES: '2', PORT: String(freePort()) } };
  {
    await using service = await startService(options);
    const orphans = await serving(service);
    const requests = await Promise.all(Array.from({ length: 8 }, () => beginRequest(service.url)));
    freeze(orphans[0] ?? 0);
    process.kill(service.child.pid, 'SIGKILL');
    await service.child.exited;
    await using next = await startService(options);
    expect(orphans.filter(isRunning)).toEqual([]);
    const call = () =>
      fetch(`${next.url}/v1/${WORKSPACE}/trash`, { headers: { ...KEY, connection: 'close' } });
    const answers = await Promise.all(Array.from({ length: 24 }, call));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    for (const { socket } of requests) socket.destroy();
  }
});

for (const hosts of [
  ['127.0.0.1', '127.0.0.1'],
  ['0.0.0.0', '127.0.0.1'],
]) {
  test(`of two that start at once with several processes, on ${hosts.join(' and ')}, one has the port`, async () => {
    const dataDir = freshFolder();
    const port = String(freePort());
    const services = hosts.map((HOST, index) => {
      const own = { HOST, PORT: port, PROCESSES: '2', DATA_DIR: join(dataDir, `${index}`) };
      return startChild([process.execPath, MAIN], { environment: { ...own, LOG_FORMAT: 'json' } });
    });
    await using _ = {
      [Symbol.asyncDispose]: () => Promise.all(services.map((child) => child.stop())).then(() => undefined),
    };
    const isOver = (child: Child) => /listens on|^atrium: /m.test(child.output());
    await eventually('both to have begun or failed', () => services.every(isOver));
    const [refused, ...others] = services.filter((child) => !child.output().includes('listens on'));
    expect(others).toEqual([]);
    expect(await refused?.exited).toBe(1);
    const told = refused?.output().match(/^atrium: .*/gm);
    expect(told).toEqual([expect.stringContaining(`PORT: ${port} is in use`)]);
    await Promise.all(services.map((child) => child.stop()));
  });
}

test('a port that is taken ends the start with its reason, with one process and with several', async () => {
  await using first = await startService();
  const { port } = new URL(first.url);
  for (const PROCESSES of ['1', '2']) {
    const second = startChild([process.execPath, MAIN], {
      environment: { PORT: port, PROCESSES, DATA_DIR: `${first.dataDir}/second`, LOG_FORMAT: 'json' },
    });
    expect(await second.exited).toBe(1);
    expect(second.output()).toContain(`PORT: ${port} is in use`);
    expect(second.output()).not.toContain('listens on');
    expect(second.output()).not.toContain('"level":"warn"');
  }
});
