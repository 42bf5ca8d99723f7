// An upload that is cut off: a client that sends the form and a part of the file, and then nothing more.

import { connect, type Socket } from 'node:net';
import type { Descriptor } from '../../acceptance/support/uploads.ts';

export type HalfUpload = { abandon(): void };

/** Resolves when the first half of `sizeBytes` is on its way; the rest never comes. */
export async function beginUpload({ url, fields }: Descriptor, sizeBytes: number): Promise<HalfUpload> {
  const { hostname, port, host, pathname } = new URL(url);
  const boundary = `half-${crypto.randomUUID()}`;
  const part = (name: string, value: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const start =
    Object.entries(fields)
      .map(([name, value]) => part(name, value))
      .join('') +
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="file"\r\n` +
    'Content-Type: application/octet-stream\r\n\r\n';
  const length = Buffer.byteLength(start) + sizeBytes + Buffer.byteLength(`\r\n--${boundary}--\r\n`);
  const head =
    `POST ${pathname} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${length}\r\n` +
    `Content-Type: multipart/form-data; boundary=${boundary}\r\n\r\n`;
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await send(socket, Buffer.concat([Buffer.from(head + start), Buffer.alloc(sizeBytes >> 1, 'half')]));
  return { abandon: () => socket.destroy() };
}

const send = (socket: Socket, data: Buffer): Promise<void> =>
  new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.write(data, () => resolve());
  });
