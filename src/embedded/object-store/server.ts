// The HTTP server of the store. It uses node:http, because Bun.serve returns a URL in which `..` is already resolved,
// while here it is a legal part of a key and of the signed target.
import { randomBytes } from 'node:crypto';
import { closeSync, createReadStream } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { codeOf } from '../../core/errors.ts';
import { createAdmission } from './admission.ts';
import { createCors } from './cors.ts';
import { ClientGone, S3Error, toS3Error } from './errors.ts';
import { limits } from './limits.ts';
import type { Objects } from './objects.ts';
import type { Reply } from './reply.ts';
import { dropRest, StoreRequest } from './request.ts';
import { createRoutes } from './routes.ts';
import type { Credentials } from './signature.ts';
import { element, renderDocument } from './xml.ts';

const CLIENT_LEFT: readonly string[] = ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE'];

type StoreServerOptions = {
  objects: Objects;
  credentials: Credentials;
  corsOrigins: readonly string[];
  /** Called with failures of the store itself, of which the client sees InternalError at most. */
  onFault(error: unknown): void;
};

export function createStoreServer(options: StoreServerOptions) {
  const route = createRoutes(options);
  const cors = createCors(options.corsOrigins);
  const admission = createAdmission();
  const running = new Set<Promise<void>>();

  async function answer(message: IncomingMessage, response: ServerResponse, waits: boolean): Promise<void> {
    const requestId = randomBytes(8).toString('hex').toUpperCase();
    const permit = admission.begin(message.socket);
    let request: StoreRequest | undefined;
    const send = (reply: Reply) => {
      const headers = {
        ...reply.headers,
        'x-amz-request-id': requestId,
        // Browsers must use the declared type of a file, and never guess.
        'x-content-type-options': 'nosniff',
        ...cors.headers(message.headers),
        ...((request?.waitsForContinue ?? waits) ? { connection: 'close' } : {}),
      };
      return sendReply(response, { ...reply, headers }, permit.moved);
    };
    try {
      request = new StoreRequest(message, response, { permit, waitsForContinue: waits });
      await send(await (request.method === 'OPTIONS' ? cors.preflight(request) : route(request)));
    } catch (error) {
      if (isFault(error)) options.onFault(error);
      if (error instanceof ClientGone || response.headersSent) response.destroy();
      else await send(renderError(toS3Error(error), { requestId, target: message.url ?? '' }));
    } finally {
      permit.done();
      dropRest(message);
    }
  }

  function onRequest(message: IncomingMessage, response: ServerResponse, waits: boolean): void {
    const answered = answer(message, response, waits)
      .catch((error: unknown) => {
        response.destroy();
        if (isFault(error)) options.onFault(error);
      })
      .finally(() => running.delete(answered));
    running.add(answered);
  }

  const server = createServer({
    requestTimeout: 0,
    headersTimeout: limits.headerMsMax,
    keepAliveTimeout: limits.keepAliveMsMax,
  });
  server.on('request', (message, response) => onRequest(message, response, false));
  server.on('checkContinue', (message, response) => onRequest(message, response, true));
  server.on('connection', (socket) => {
    admission.connected(socket);
    socket.on('timeout', () => socket.destroy());
  });

  return {
    /** Resolves with the port; rejects where it can't listen. */
    listen: (host: string, port: number): Promise<number> => {
      const listening = Promise.withResolvers<number>();
      server.on('error', listening.reject);
      server.listen(port, host, () => {
        const address = server.address();
        listening.resolve(typeof address === 'object' && address !== null ? address.port : port);
      });
      return listening.promise;
    },
    /** Stops accepting; resolves when the running requests are done, or cut after limits.drainMsMax. */
    close: async () => {
      const closed = Promise.withResolvers<void>();
      const deadline = setTimeout(() => server.closeAllConnections(), limits.drainMsMax);
      // A kept-alive connection counts as open also when its last request has been answered.
      const tidying = setInterval(() => server.closeIdleConnections(), limits.closeIdleEveryMs);
      server.close(() => closed.resolve());
      server.closeIdleConnections();
      await closed.promise;
      await Promise.allSettled(running);
      clearTimeout(deadline);
      clearInterval(tidying);
    },
  };
}

function isFault(error: unknown): boolean {
  if (error instanceof S3Error || error instanceof ClientGone) return false;
  return !CLIENT_LEFT.includes(codeOf(error));
}

function renderError(error: S3Error, about: { requestId: string; target: string }): Reply {
  const document = renderDocument('Error', [
    element('Code', error.code),
    element('Message', error.message),
    ...Object.entries(error.details).map(([name, value]) => element(name, value)),
    element('Resource', about.target.split('?', 1)[0] ?? ''),
    element('RequestId', about.requestId),
  ]);
  return { status: error.status, headers: error.headers, document };
}

/** Resolves when all of the answer is handed over; rejects when the client leaves before. `moved` is called for parts of a file. */
async function sendReply(
  response: ServerResponse,
  { status, headers, document, file }: Reply,
  moved: (bytes: number) => void,
): Promise<void> {
  if (file === undefined || file.length === 0) {
    if (file !== undefined) closeSync(file.descriptor);
    const hasLength = status !== 204 && status !== 304;
    response.writeHead(status, {
      ...(hasLength ? { 'content-length': String(Buffer.byteLength(document ?? '')) } : {}),
      ...(document === undefined ? {} : { 'content-type': 'application/xml' }),
      ...headers,
    });
    response.end(document);
    return;
  }
  const { descriptor: fd, start, length } = file;
  const content = createReadStream('', {
    fd,
    start,
    end: start + length - 1,
    highWaterMark: limits.bufferBytes,
  });
  try {
    response.writeHead(status, { ...headers, 'content-length': String(length) });
    response.socket?.setTimeout(limits.downloadIdleMsMax);
    const sent = pipeline(content, response);
    content.on('data', (chunk) => moved(chunk.length));
    await sent;
  } finally {
    content.destroy();
  }
}
