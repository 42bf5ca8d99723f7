// A TCP proxy on loopback that a test puts before a database, a message queue or an object store, and then cuts, stalls,
// delays or resets. It knows no protocol: what it holds back or loses are bytes.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** `up` is towards the server, `down` is back to the client. */
export type Direction = 'up' | 'down';

export type TcpProxy = AsyncDisposable & {
  port: number;
  /** The server's URL, by way of the proxy. */
  url: string;
  /** How many connections are open. */
  connections(): number;
  /**
   * Closes every connection, and each new one, until `heal`. With a direction: connections stay open, but its bytes are
   * lost, and so each connection that lost some is reset by `heal`.
   */
  cut(direction?: Direction): void;
  /** Bytes wait here, of new connections too, and go on with `heal`. Both directions, where none is named. */
  stall(direction?: Direction): void;
  /** Each chunk of bytes arrives this much later, in order, until `heal`. */
  delay(ms: number, direction?: Direction): void;
  /** Ends every open connection with a reset. New ones are served. */
  reset(): void;
  /**
   * Forwards the next chunk that a client sends and that `matching` fits (its bytes read as Latin-1), waits until the
   * server answers, loses the answer and resets the connection. Resolves when that has happened; never, where `heal`
   * comes first.
   */
  loseNextAnswer(matching?: RegExp): Promise<void>;
  /** Everything passes again, at once. */
  heal(): void;
  close(): Promise<void>;
};

/** What holds for one direction at the moment. */
type Fault = { lost: boolean; stalled: boolean; delayMs: number };

type Link = { client: Socket; server: Socket; damaged: boolean; losing: (() => void) | undefined };

type Chunk = { data: Buffer | 'end'; due: number };

/** A proxy to `target`, a URL with a port. It keeps its own `port`, where one is given. */
export async function startTcpProxy(target: string, options: { port?: number } = {}): Promise<TcpProxy> {
  const { hostname, port: targetPort } = new URL(target);
  const whole = (): Record<Direction, Fault> => ({
    up: { lost: false, stalled: false, delayMs: 0 },
    down: { lost: false, stalled: false, delayMs: 0 },
  });
  const links = new Set<Link>();
  let faults = whole();
  let closed = false;
  let toLose: { matching: RegExp | undefined; lost: () => void } | undefined;
  /** Each moves what may pass by now; called again when the faults have changed. */
  const pumps = new Set<() => void>();

  const end = (link: Link, how: 'close' | 'reset'): void => {
    for (const socket of [link.client, link.server]) {
      if (how === 'reset' && !socket.destroyed) socket.resetAndDestroy();
      else socket.destroy();
    }
  };

  const forward = (link: Link, direction: Direction): void => {
    const [from, to] = direction === 'up' ? [link.client, link.server] : [link.server, link.client];
    const waiting: Chunk[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const pump = (): void => {
      clearTimeout(timer);
      const fault = faults[direction];
      while (!fault.stalled && !to.destroyed) {
        const [next] = waiting;
        if (next === undefined) break;
        // Healing also ends the delay of what is under way.
        const early = fault.delayMs === 0 ? 0 : next.due - performance.now();
        if (early > 0) {
          timer = setTimeout(pump, early);
          break;
        }
        waiting.shift();
        pass(next);
      }
      if (waiting.length > 64 || to.writableNeedDrain) from.pause();
      else if (from.isPaused()) from.resume();
    };
    const pass = ({ data }: Chunk): void => {
      if (faults[direction].lost) link.damaged = true;
      else if (direction === 'down' && link.losing !== undefined) {
        const lost = link.losing;
        link.losing = undefined;
        end(link, 'reset');
        lost();
      } else if (data === 'end') to.end();
      else {
        if (direction === 'up' && toLose?.matching?.test(data.toString('latin1')) !== false && toLose) {
          link.losing = toLose.lost;
          toLose = undefined;
        }
        to.write(data);
      }
    };
    const take = (data: Chunk['data']): void => {
      waiting.push({ data, due: performance.now() + faults[direction].delayMs });
      pump();
    };
    from.on('data', take).on('end', () => take('end'));
    pumps.add(pump);
    to.on('drain', pump);
    from.on('close', () => {
      // What has arrived still passes; a connection that broke has broken for both.
      if (waiting.length === 0) end(link, 'close');
    });
    to.on('close', () => {
      clearTimeout(timer);
      pumps.delete(pump);
    });
  };

  const listener = createServer({ allowHalfOpen: true }, (client) => {
    if (closed) {
      client.resetAndDestroy();
      return;
    }
    const server = connect({ port: Number(targetPort), host: hostname, allowHalfOpen: true });
    const link: Link = { client, server, damaged: false, losing: undefined };
    links.add(link);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', () => end(link, 'reset'));
      socket.on('close', () => links.delete(link));
    }
    forward(link, 'up');
    forward(link, 'down');
  });
  listener.listen(options.port ?? 0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = `${port}`;

  const each = (direction: Direction | undefined): Fault[] =>
    direction === undefined ? [faults.up, faults.down] : [faults[direction]];
  const endAll = (how: 'close' | 'reset'): void => {
    for (const link of [...links]) end(link, how);
  };
  const proxy: TcpProxy = {
    port,
    url: url.href,
    connections: () => links.size,
    cut(direction) {
      if (direction !== undefined) {
        faults[direction].lost = true;
        return;
      }
      closed = true;
      endAll('close');
    },
    stall(direction) {
      for (const fault of each(direction)) fault.stalled = true;
    },
    delay(ms, direction) {
      for (const fault of each(direction)) fault.delayMs = ms;
    },
    reset: () => endAll('reset'),
    loseNextAnswer: (matching) =>
      new Promise((lost) => {
        toLose = { matching, lost };
      }),
    heal() {
      faults = whole();
      closed = false;
      toLose = undefined;
      for (const link of [...links]) {
        link.losing = undefined;
        if (link.damaged) end(link, 'reset');
      }
      for (const pump of [...pumps]) pump();
    },
    async close() {
      closed = true;
      endAll('close');
      listener.close();
      await once(listener, 'close');
    },
    [Symbol.asyncDispose]: () => proxy.close(),
  };
  return proxy;
}
