// A door between the service and its store, through which everything passes until a test says otherwise.

import { connect, createServer, type Socket } from 'node:net';

export type Gate = AsyncDisposable & {
  url: string;
  /** From now on requests to copy wait at the door, in silence. */
  holdCopies(): void;
  /** From now on the next `count` requests to copy pass, but the connection breaks before their answers do. */
  loseAnswersToCopies(count: number): void;
  /** Lets everything pass again, also what waits. */
  open(): void;
};

const COPY = /^x-amz-copy-source:/im;

export async function openGate(target: string): Promise<Gate> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let holding = false;
  let answersToLose = 0;
  let waiting: (() => void)[] = [];

  const server = createServer((client) => {
    const store = connect(Number(port), hostname);
    let losing = false;
    for (const socket of [client, store]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        store.destroy();
      });
    }
    client.on('data', (data) => {
      const copies = COPY.test(data.toString('latin1'));
      if (copies && answersToLose > 0) {
        answersToLose--;
        losing = true;
      }
      if (copies && holding) waiting.push(() => store.write(data));
      else store.write(data);
    });
    store.on('data', (data) => {
      if (losing) client.destroy();
      else client.write(data);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the gate has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    holdCopies() {
      holding = true;
    },
    loseAnswersToCopies(count) {
      answersToLose = count;
    },
    open() {
      holding = false;
      answersToLose = 0;
      for (const pass of waiting) pass();
      waiting = [];
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
