// The answer of an operation, and how it is sent.
import { closeSync, createReadStream } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { limits } from './limits.ts';
import type { ByteRange } from './reads.ts';

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** XML. */
  readonly document?: string;
  /** A part of a file; the descriptor is closed once it is sent or the client has left. */
  readonly file?: ByteRange & { readonly descriptor: number };
}

/** Resolves when all of the answer is handed over; rejects when the client leaves before. `moved` is called for parts of a file. */
export async function sendReply(
  response: ServerResponse,
  reply: Reply,
  moved: (bytes: number) => void,
): Promise<void> {
  const { document, file } = reply;
  if (file !== undefined && file.length > 0) {
    await sendFile(response, { ...reply, file }, moved);
    return;
  }
  if (file !== undefined) closeSync(file.descriptor);
  const hasLength = reply.status !== 204 && reply.status !== 304;
  response.writeHead(reply.status, {
    ...(hasLength ? { 'content-length': String(Buffer.byteLength(document ?? '')) } : {}),
    ...(document === undefined ? {} : { 'content-type': 'application/xml' }),
    ...reply.headers,
  });
  response.end(document);
}

async function sendFile(
  response: ServerResponse,
  { file, ...reply }: Reply & Required<Pick<Reply, 'file'>>,
  moved: (bytes: number) => void,
): Promise<void> {
  const content = createReadStream('', {
    fd: file.descriptor,
    start: file.start,
    end: file.start + file.length - 1,
    highWaterMark: limits.readBufferBytes,
  });
  try {
    response.writeHead(reply.status, { ...reply.headers, 'content-length': String(file.length) });
    response.socket?.setTimeout(limits.downloadIdleMsMax);
    const sent = pipeline(content, response);
    content.on('data', (chunk) => moved(chunk.length));
    await sent;
  } finally {
    content.destroy();
  }
}
