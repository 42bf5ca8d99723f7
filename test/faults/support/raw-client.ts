// A client below HTTP: it sends what it is told, when it is told, and sees whether the connection is closed on it.

import { connect } from 'node:net';

export type RawClient = {
  send(text: string): void;
  /** What has arrived so far. */
  received(): string;
  isClosed(): boolean;
  /** Takes nothing more from the kernel; whether the connection is closed is not seen until it reads on. */
  stopReading(): void;
  readOn(): void;
  leave(): void;
};

/** Resolves when the connection stands. */
export function openRawClient(url: string): Promise<RawClient> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let received = '';
  let closed = false;
  socket.on('data', (data) => {
    received += data.toString('latin1');
  });
  socket.on('close', () => {
    closed = true;
  });
  const client: RawClient = {
    send: (text) => void socket.write(text),
    received: () => received,
    isClosed: () => closed,
    stopReading: () => void socket.pause(),
    readOn: () => void socket.resume(),
    leave: () => socket.destroy(),
  };
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('connect', () => resolve(client));
  });
}

/** Sends a byte every so often, until the connection is closed or given up. */
export function drip(client: RawClient, text: string): { end(): void } {
  let position = 0;
  const timer = setInterval(() => {
    if (client.isClosed()) clearInterval(timer);
    else client.send(text[position++ % text.length] ?? '');
  }, 500);
  return {
    end() {
      clearInterval(timer);
      client.leave();
    },
  };
}
