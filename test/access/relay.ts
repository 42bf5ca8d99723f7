// A TCP relay in front of the test's Postgres: cutting it is how a database goes away for one process alone.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type Relay = {
  /** The database's URL by way of the relay. */
  url: string;
  /** Closes every connection, and each new one, until `restore`. */
  cut(): void;
  /** Closes each new connection, until `restore`; those that are open go on. */
  refuseNew(): void;
  restore(): void;
  close(): void;
};

export async function startRelay(target: string): Promise<Relay> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let connected = true;
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy());
    return socket;
  };
  const relay = createServer((client) => {
    if (!connected) {
      client.destroy();
      return;
    }
    const server = keep(connect(Number(port), hostname));
    keep(client).pipe(server).pipe(client);
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const url = new URL(target);
  url.port = String((relay.address() as AddressInfo).port);

  const cut = (): void => {
    connected = false;
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    cut,
    refuseNew: () => {
      connected = false;
    },
    restore: () => {
      connected = true;
    },
    close: () => {
      cut();
      relay.close();
    },
  };
}
