// Load as cheap as it can be sent: one request again and again over kept connections, answers told apart by their length
// or their last chunk. Arguments: URL, method, key, another header, body's file, connections, seconds or `n` requests. Prints JSON.

import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: '' },
    method: { type: 'string', default: 'POST' },
    key: { type: 'string', default: '' },
    header: { type: 'string', default: '' },
    body: { type: 'string', default: '' },
    flight: { type: 'string', default: '16' },
    seconds: { type: 'string', default: '3' },
    count: { type: 'string', default: '0' },
  },
});
const { hostname, port, pathname, search } = new URL(values.url);
const body = await Bun.file(values.body).text();
const head = [
  `${values.method} ${pathname}${search} HTTP/1.1`,
  `host: ${hostname}:${port}`,
  `authorization: Bearer ${values.key}`,
  ...(values.header === '' ? [] : [values.header]),
  'content-type: application/json',
  `content-length: ${Buffer.byteLength(body)}`,
];
const request = Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
const count = Number(values.count);
const until = count > 0 ? Number.POSITIVE_INFINITY : performance.now() + Number(values.seconds) * 1000;

const firsts: number[] = [];
const times: number[] = [];
let sent = 0;
let failed = 0;
let open = Number(values.flight);
const { promise: over, resolve: finish } = Promise.withResolvers<void>();

type State = {
  sentAt: number;
  firstAt: number;
  text: string;
  left: number;
  chunked: boolean;
  rest: Uint8Array;
};

const next = (socket: Bun.Socket<State>): void => {
  if (performance.now() >= until || (count > 0 && sent >= count)) {
    socket.end();
    open -= 1;
    if (open === 0) finish();
    return;
  }
  sent += 1;
  socket.data = { sentAt: performance.now(), firstAt: 0, text: '', left: -1, chunked: false, rest: request };
  write(socket);
};
const write = (socket: Bun.Socket<State>): void => {
  const written = socket.write(socket.data.rest);
  socket.data.rest = socket.data.rest.subarray(written);
};
const end = (socket: Bun.Socket<State>): void => {
  times.push(performance.now() - socket.data.sentAt);
  firsts.push(socket.data.firstAt - socket.data.sentAt);
  next(socket);
};

const startedAt = performance.now();
for (let index = 0; index < Number(values.flight); index++) {
  await Bun.connect<State>({
    hostname,
    port: Number(port),
    socket: {
      open: next,
      drain: write,
      data(socket, chunk) {
        const { data } = socket;
        if (data.left === -1) {
          data.text += chunk.toString('latin1');
          const at = data.text.indexOf('\r\n\r\n');
          if (at === -1) return;
          if (!data.text.startsWith('HTTP/1.1 200')) failed += 1;
          const length = /content-length: (\d+)/i.exec(data.text.slice(0, at))?.[1];
          data.chunked = length === undefined;
          data.left = length === undefined ? 1 : Number(length);
          const first = data.text.length - at - 4;
          if (data.chunked) data.text = data.text.slice(at + 4);
          else data.left -= first;
          if (first > 0) data.firstAt = performance.now();
        } else {
          if (data.firstAt === 0) data.firstAt = performance.now();
          if (data.chunked) data.text = data.text.slice(-8) + chunk.toString('latin1');
          else data.left -= chunk.length;
        }
        if (data.chunked ? data.text.endsWith('0\r\n\r\n') : data.left <= 0) end(socket);
      },
      close() {
        if (performance.now() < until && count === 0) failed += 1;
      },
    },
  });
}
await over;
const seconds = (performance.now() - startedAt) / 1000;
const at = (list: number[], share: number): number =>
  list[Math.min(list.length - 1, Math.floor(list.length * share))] ?? 0;
times.sort((a, b) => a - b);
firsts.sort((a, b) => a - b);
console.log(
  JSON.stringify({
    count: times.length,
    failed,
    seconds,
    p50: at(times, 0.5),
    p99: at(times, 0.99),
    firstP50: at(firsts, 0.5),
  }),
);
process.exit(0);
