// A process that sends events as fast as it is answered, over raw sockets: it must cost little beside what it loads.
// Prints a line of JSON a second, and the sums at the end.

import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    url: { type: 'string' },
    /** `workspace=key`, comma-separated. */
    targets: { type: 'string', default: '' },
    batch: { type: 'string', default: '100' },
    flight: { type: 'string', default: '16' },
    seconds: { type: 'string', default: '10' },
    /** Events a second; 0: as many as are taken. */
    rate: { type: 'string', default: '0' },
  },
});
const { hostname, port } = new URL(values.url ?? '');
const targets = values.targets.split(',');
const batch = Number(values.batch);
const perSecond = Number(values.rate);
const endsAt = performance.now() + Number(values.seconds) * 1000;
const sums = { accepted: 0, requests: 0, refused: 0, latencies: [] as number[] };
const startedAt = performance.now();

const TYPES = ['user.new', 'rag.persona.new', 'rag.agent.new', 'rag.bot.new'].map(
  (name) => `messages.${name}`,
);
/** Of an id's changing end, in hexadecimal. */
const COUNTER_DIGITS = 12;

/** A request whose events differ in their ids alone; the places of these are overwritten each time. */
function prepareRequest(workspace: string, key: string) {
  const events = Array.from({ length: batch }, (_, index) => ({
    specversion: '1.0',
    id: `${crypto.randomUUID().slice(0, 23)}-#${'0'.repeat(COUNTER_DIGITS - 1)}`,
    source: `app-${index % 3}`,
    type: TYPES[index % TYPES.length],
    subject: `person-${(index * 37) % 500}@example.com`,
    time: new Date().toISOString(),
    data: { value: '1', message_id: index, chat_session_id: index % 50 },
  }));
  const body = batch === 1 ? JSON.stringify(events[0]) : JSON.stringify(events);
  const mode = batch === 1 ? 'cloudevents' : 'cloudevents-batch';
  const head =
    `POST /api/v1/workspace_metric/${workspace}/events HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: ${key}\r\n` +
    `content-type: application/${mode}+json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
  const bytes = Buffer.from(head + body);
  const places: number[] = [];
  for (let at = bytes.indexOf('-#'); at !== -1; at = bytes.indexOf('-#', at + 2)) places.push(at + 1);
  return { bytes, places };
}

let counter = 0;
const nextId = (): string => (++counter).toString(16).padStart(COUNTER_DIGITS, '0');

const ANSWER = /^HTTP\/1\.1 (\d+)[\s\S]*?\r\ncontent-length: (\d+)/i;

/** One connection, one request at a time. */
function openLine(index: number): Promise<void> {
  const [workspace = '', key = ''] = (targets[index % targets.length] ?? '').split('=');
  const { bytes, places } = prepareRequest(workspace, key);
  const { promise, resolve } = Promise.withResolvers<void>();
  let received = '';
  let unsent: Buffer | undefined;
  let sentAt = 0;
  const write = (socket: Bun.Socket, rest: Buffer): void => {
    const written = socket.write(rest);
    unsent = written < rest.length ? rest.subarray(Math.max(written, 0)) : undefined;
  };
  const send = (socket: Bun.Socket): void => {
    for (const place of places) bytes.write(nextId(), place, 'latin1');
    sentAt = performance.now();
    write(socket, bytes);
  };
  const sendInTime = (socket: Bun.Socket): void => {
    if (performance.now() > endsAt) {
      socket.end();
      resolve();
      return;
    }
    const dueMs =
      perSecond === 0 ? 0 : startedAt + ((sums.requests * batch) / perSecond) * 1000 - performance.now();
    sums.requests += 1;
    if (dueMs > 1) setTimeout(() => send(socket), dueMs);
    else send(socket);
  };
  void Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      open: sendInTime,
      drain: (socket) => {
        if (unsent !== undefined) write(socket, unsent);
      },
      data(socket, data) {
        received += data.toString('latin1');
        const end = received.indexOf('\r\n\r\n') + 4;
        if (end === 3) return;
        const [, status, length] = ANSWER.exec(received) ?? [];
        if (received.length < end + Number(length)) return;
        received = '';
        sums.latencies.push(performance.now() - sentAt);
        if (status === '202') sums.accepted += batch;
        else sums.refused += batch;
        sendInTime(socket);
      },
      close: () => resolve(),
      error: () => resolve(),
    },
  });
  return promise;
}

await Promise.all(Array.from({ length: Number(values.flight) }, (_, index) => openLine(index)));
const seconds = (performance.now() - startedAt) / 1000;
const latencies = sums.latencies.toSorted((a, b) => a - b);
const at = (share: number): number => latencies[Math.floor((latencies.length - 1) * share)] ?? 0;
const { accepted, refused } = sums;
console.log(JSON.stringify({ accepted, refused, seconds, p50: at(0.5), p99: at(0.99) }));
