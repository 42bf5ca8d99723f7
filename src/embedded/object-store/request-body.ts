// Copies a request's body into a stream, and discards the rest of a refused one.
import type { IncomingMessage } from 'node:http';
import { finished, type Writable } from 'node:stream';
import { ClientGone } from './errors.ts';
import { limits } from './limits.ts';
import type { StoreRequest } from './request.ts';

/**
 * Resolves when the sink has taken the whole body and finished. Rejects with the sink's error, the
 * request then being still readable so that it can be answered; or with ClientGone, the sink then
 * being destroyed. The socket is paused while the sink is full, and cut when the client is idle.
 */
export function pumpBody(request: StoreRequest, sink: Writable): Promise<void> {
  const { message } = request;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onClose = () => {
    if (!message.complete) sink.destroy(new ClientGone());
  };
  const onData = (chunk: Buffer) => request.moved(chunk.length);
  message.on('close', onClose);
  message.on('error', onClose);
  // Its listeners stay: a parser may emit a second error, which must not become an uncaught one.
  finished(sink, { readable: false }, (error) => {
    message.unpipe(sink);
    message.off('data', onData);
    message.off('close', onClose);
    if (error) reject(error);
    else resolve();
  });
  message.socket.setTimeout(limits.uploadIdleMsMax);
  request.acceptBody();
  if (message.destroyed && !message.complete) onClose();
  else {
    message.pipe(sink);
    message.on('data', onData);
  }
  return promise;
}

/**
 * Reads and drops the rest of a body, within bounds, so that a client that is still sending gets to
 * read the answer; past the bounds the connection is cut.
 */
export function dropRest(message: IncomingMessage): void {
  if (message.complete || message.destroyed) return;
  let dropped = 0;
  const timer = setTimeout(() => message.socket.destroy(), limits.lingerMsMax);
  message.once('close', () => clearTimeout(timer));
  message.once('end', () => clearTimeout(timer));
  message.on('error', () => clearTimeout(timer));
  message.on('data', (chunk: Buffer) => {
    dropped += chunk.length;
    if (dropped > limits.lingerBytesMax) message.socket.destroy();
  });
  message.resume();
}
