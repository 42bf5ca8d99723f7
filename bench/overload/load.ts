// A load at a given rate, as a process of its own: requests are sent when they are due, whether those before them are answered or not,
// over as many connections as that takes. Prints what became of them as JSON.

import { connect, type Socket } from 'node:net';

/** `rate`: requests a second; 0: as fast as `inFlight` are answered. */
export type LoadSpec = {
  url: string;
  seconds: number;
  rate: number;
  inFlight: number;
  /** Whole requests, of which each is sent in turn. */
  requests: readonly string[];
  /** A `GET` that is sent ten times a second beside them. */
  probe: string;
};

export type LoadOutcome = {
  /** Answered 2xx within a second of the time at which they were due, a second. */
  goodput: number;
  /** Answered 2xx at all, a second. */
  answered: number;
  statuses: Record<string, number>;
  /** Of those that were answered 2xx, in milliseconds since they were due. */
  p50: number;
  p99: number;
  probeP99: number;
  probeMax: number;
};

const IN_TIME_MS = 1000;
const PROBE_EVERY_MS = 100;
const CONNECTIONS_MAX = 4000;
/** For what is open at the end. */
const REST_MS = 6000;

type Idle = { socket: Socket; answered: ((status: number) => void) | undefined };

async function run(spec: LoadSpec): Promise<LoadOutcome> {
  const { hostname, port } = new URL(spec.url);
  const idle: Idle[] = [];
  let connections = 0;
  const times: number[] = [];
  const probes: number[] = [];
  const statuses: Record<string, number> = {};
  let open = 0;
  let inTime = 0;

  const connection = (): Idle => {
    const socket = connect(Number(port), hostname);
    const own: Idle = { socket, answered: undefined };
    connections++;
    let text = '';
    let expected = -1;
    const settle = (status: number): void => {
      const { answered } = own;
      own.answered = undefined;
      text = '';
      expected = -1;
      answered?.(status);
    };
    socket.setNoDelay(true);
    socket.on('data', (data) => {
      text += data.toString('latin1');
      if (expected === -1) {
        const head = text.indexOf('\r\n\r\n');
        if (head === -1) return;
        expected = head + 4 + Number(/\r\ncontent-length: *(\d+)/i.exec(text)?.[1] ?? 0);
      }
      if (text.length < expected) return;
      settle(Number(text.slice(9, 12)));
      idle.push(own);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      connections--;
      settle(0);
    });
    return own;
  };

  const send = (request: string, answered: (status: number) => void): void => {
    let own = idle.pop();
    while (own?.socket.destroyed) own = idle.pop();
    if (own === undefined && request !== spec.probe && connections >= CONNECTIONS_MAX) {
      answered(-1);
      return;
    }
    own ??= connection();
    own.answered = answered;
    own.socket.write(request);
  };

  const begun = performance.now();
  const until = begun + spec.seconds * 1000;
  let sent = 0;
  const sendNext = (dueMs: number, then?: () => void): void => {
    open++;
    send(spec.requests[sent++ % spec.requests.length] as string, (status) => {
      open--;
      const ms = performance.now() - dueMs;
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (status >= 200 && status < 300) {
        times.push(ms);
        if (ms <= IN_TIME_MS) inTime++;
      }
      then?.();
    });
  };
  const probing = setInterval(() => {
    const from = performance.now();
    send(spec.probe, (status) => probes.push(status === 200 ? performance.now() - from : REST_MS));
  }, PROBE_EVERY_MS);

  if (spec.rate === 0) {
    const loop = (): void => {
      if (performance.now() < until) sendNext(performance.now(), loop);
    };
    for (let each = 0; each < spec.inFlight; each++) loop();
    await Bun.sleep(until - performance.now());
  } else {
    while (performance.now() < until) {
      const due = ((performance.now() - begun) * spec.rate) / 1000;
      while (sent < due) sendNext(begun + (sent * 1000) / spec.rate);
      await Bun.sleep(1);
    }
  }
  const ended = performance.now();
  clearInterval(probing);
  while (open > 0 && performance.now() < ended + REST_MS) await Bun.sleep(20);
  if (open > 0) statuses['none'] = open;
  const seconds = (ended - begun) / 1000;
  const sorted = times.sort((one, other) => one - other);
  const sortedProbes = probes.sort((one, other) => one - other);
  const at = (values: readonly number[], share: number): number =>
    values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN;
  return {
    goodput: inTime / seconds,
    answered: times.length / seconds,
    statuses,
    p50: at(sorted, 0.5),
    p99: at(sorted, 0.99),
    probeP99: at(sortedProbes, 0.99),
    probeMax: sortedProbes.at(-1) ?? Number.NaN,
  };
}

if (import.meta.main) {
  console.log(JSON.stringify(await run((await Bun.file(process.argv[2] ?? '').json()) as LoadSpec)));
  process.exit();
}
