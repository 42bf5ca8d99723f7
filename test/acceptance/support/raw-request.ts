// A request written to the socket byte by byte, for what no HTTP client would send.

import { connect } from 'node:net';

const ANSWER_TIMEOUT_MS = 60_000;

export type RawRequest = {
  head: string[];
  chunks?: string[];
  /** Sent behind the head as it is. */
  body?: string;
  /** Of the header Host, which is left out where it is null; default: the URL's host name. */
  host?: string | null;
};

/**
 * Sends the head's lines and, in chunked transfer coding, the chunks; returns the answer as far as it came with
 * the head, or '' when the connection was closed, or nothing came, without one.
 */
export function sendRaw(url: string, request: RawRequest): Promise<string> {
  const { hostname, port } = new URL(url);
  const { host = hostname } = request;
  const head = host === null ? request.head : [...request.head, `host: ${host}`];
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect(Number(port), hostname);
    const finish = (): void => {
      resolve(answer);
      socket.destroy();
    };
    socket.setTimeout(ANSWER_TIMEOUT_MS, finish);
    socket.on('data', (bytes) => {
      answer += bytes.toString('latin1');
      if (answer.includes('\r\n\r\n')) finish();
    });
    socket.on('close', finish);
    socket.on('error', finish);
    socket.write(`${head.join('\r\n')}\r\n\r\n${request.body ?? ''}`);
    if (request.chunks === undefined) return;
    for (const chunk of request.chunks) socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
    socket.write('0\r\n\r\n');
  });
}
