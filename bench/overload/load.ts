// A load at a given rate, as a process of its own: requests are sent when they are due, whether those before them are answered or not,
// over as many connections as that takes. Prints what became of them as JSON.

import type { Socket } from 'bun';

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
  /** Of one processor, what this generator took of the machine meanwhile. */
  processor: number;
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

type Idle = { socket: Socket | undefined; first: string; answered: ((status: number) => void) | undefined };

async function run(spec: LoadSpec): Promise<LoadOutcome> {
  const { hostname, port } = new URL(spec.url);
  const idle: Idle[] = [];
  const open = new Set<Idle>();
  const times: number[] = [];
  const probes: number[] = [];
  const statuses: Record<string, number> = {};
  let unanswered = 0;
  let inTime = 0;

  const connection = (first: string): Idle => {
    const own: Idle = { socket: undefined, first, answered: undefined };
    /** Bytes of the answer that are still to come; -1: its head is. */
    let expected = -1;
    let head = '';
    const settle = (status: number): void => {
      const { answered } = own;
      own.answered = undefined;
      expected = -1;
      answered?.(status);
    };
    const lost = (): void => {
      if (!open.delete(own)) return;
      settle(0);
    };
    void Bun.connect({
      hostname,
      port: Number(port),
      socket: {
        open(socket) {
          own.socket = socket;
          socket.write(own.first);
        },
        data(_, data) {
          if (expected === -1) {
            head += data.toString('latin1');
            const end = head.indexOf('\r\n\r\n');
            if (end === -1) return;
            expected = end + 4 + Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0) - head.length;
          } else expected -= data.length;
          if (expected > 0) return;
          const status = Number(head.slice(9, 12));
          head = '';
          idle.push(own);
          settle(status);
        },
        close: lost,
        error: lost,
        connectError: lost,
      },
    }).catch(lost);
    open.add(own);
    return own;
  };

  const send = (request: string, answered: (status: number) => void): void => {
    let own = idle.pop();
    while (own !== undefined && !open.has(own)) own = idle.pop();
    if (own === undefined && request !== spec.probe && open.size >= CONNECTIONS_MAX) {
      answered(-1);
      return;
    }
    if (own === undefined) own = connection(request);
    else own.socket?.write(request);
    own.answered = answered;
  };

  const usedBefore = process.cpuUsage();
  const begun = performance.now();
  const until = begun + spec.seconds * 1000;
  let sent = 0;
  const sendNext = (dueMs: number, then?: () => void): void => {
    unanswered++;
    send(spec.requests[sent++ % spec.requests.length] as string, (status) => {
      unanswered--;
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
  const used = process.cpuUsage(usedBefore);
  clearInterval(probing);
  while (unanswered > 0 && performance.now() < ended + REST_MS) await Bun.sleep(20);
  if (unanswered > 0) statuses['none'] = unanswered;
  const seconds = (ended - begun) / 1000;
  const sorted = times.sort((one, other) => one - other);
  const sortedProbes = probes.sort((one, other) => one - other);
  const at = (values: readonly number[], share: number): number =>
    values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN;
  return {
    goodput: inTime / seconds,
    answered: times.length / seconds,
    statuses,
    processor: (used.user + used.system) / 1e6 / seconds,
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
