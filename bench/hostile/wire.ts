// Requests as bytes, for what no HTTP client would send.

import { connect, type Socket } from 'node:net';

export type RawRequest = {
  method: string;
  target: string;
  /** Header lines, beside those that are always sent. */
  headers: readonly string[];
  body?: Buffer | undefined;
};

const ANSWER_MS_MAX = 20_000;
const OPENED_TOGETHER = 15;
const PAUSE_MS = 4;

export function renderHead(url: URL, { method, target, headers, body }: RawRequest): string {
  const length = body === undefined ? [] : [`content-length: ${body.length}`];
  return `${[`${method} ${target} HTTP/1.1`, `host: ${url.host}`, ...headers, ...length].join('\r\n')}\r\n\r\n`;
}

export type Answer = {
  /** 0: the connection was closed, or nothing came in time. */
  status: number;
  text: string;
};

/**
 * Sends the request and goes on sending when it is answered early, as a hostile client would; resolves when it is
 * answered and all is sent, or the connection is closed.
 */
export function send(url: URL, request: RawRequest, timeoutMs = ANSWER_MS_MAX): Promise<Answer> {
  return new Promise((resolve) => {
    const socket = connect(Number(url.port), url.hostname);
    let text = '';
    let sent = false;
    const finish = (): void => {
      clearTimeout(late);
      socket.destroy();
      resolve({ status: Number(/^HTTP\/1.1 (\d{3})/.exec(text)?.[1] ?? 0), text });
    };
    const late = setTimeout(finish, timeoutMs);
    const consider = (): void => {
      const head = text.indexOf('\r\n\r\n');
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(text)?.[1] ?? 0);
      if (sent && head !== -1 && text.length >= Math.min(head + 4 + length, 65_536)) finish();
    };
    socket.on('data', (data) => {
      if (text.length < 65_536) text += data.toString('latin1');
      consider();
    });
    socket.on('close', finish);
    socket.on('error', () => undefined);
    socket.write(renderHead(url, request), 'latin1');
    socket.write(request.body ?? '', () => {
      sent = true;
      consider();
    });
  });
}

/** Connections that are opened side by side and held; each sends its bytes and then says nothing. */
export async function hold(url: URL, count: number, bytes: Buffer): Promise<Disposable & { open(): number }> {
  const sockets: Socket[] = [];
  for (let index = 0; index < count; index++) {
    const socket = connect(Number(url.port), url.hostname);
    socket.on('error', () => undefined);
    socket.on('data', () => undefined);
    socket.write(bytes);
    sockets.push(socket);
    // What counts is how many there are: opening them all at once would measure how fast connections are accepted.
    if (index % OPENED_TOGETHER === 0) await Bun.sleep(PAUSE_MS);
  }
  return {
    open: () => sockets.filter((socket) => !socket.destroyed && !socket.connecting).length,
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy();
    },
  };
}
