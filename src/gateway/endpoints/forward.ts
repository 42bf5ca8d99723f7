// Between HTTP and a model call: the caller's bytes go on, the upstream's come back.

import type { OnInterrupt } from '../../core/interruption.ts';
import { readDecodedBody } from '../../http/body.ts';
import type { Endpoint } from '../adapters/adapter.ts';
import { toReadable } from '../events.ts';
import { REQUEST_BYTES_MAX } from '../limits.ts';
import type { Caller, Served } from '../model-call.ts';
import { type GatewayRequest, readRequest } from '../request.ts';
import type { Serve } from '../serve.ts';
import { readCallersHeaders } from '../upstream-request.ts';

/** A request that may reach an upstream once says so with this header. */
export const AT_MOST_ONCE_HEADER = 'atrium-at-most-once';

export type GatewayInput = { request: Request; requestId: string; principal: Caller };

export type Forward = (endpoint: Endpoint, input: GatewayInput) => Promise<Response>;

/** Throws OpenAiRefusal, and the errors of `readDecodedBody`. The answer to a disconnected caller is never read. */
export function createForward({
  serve,
  embeddings,
  onInterrupt,
}: {
  serve: Serve;
  embeddings: Serve;
  onInterrupt: OnInterrupt;
}): Forward {
  return (endpoint, input) =>
    respond(input.request, async () => {
      const body = readRequest(await readDecodedBody(input.request, REQUEST_BYTES_MAX));
      const call = { ...input, endpoint, body, onInterrupt };
      return callInterruptibly(endpoint === 'embeddings' ? embeddings : serve, call);
    });
}

/**
 * Makes the call with a signal that aborts when the caller disconnects, and when the service ends before there is an
 * answer. A stream that has begun hears of that end by itself.
 */
export async function callInterruptibly(
  serve: Serve,
  input: GatewayInput & { endpoint: Endpoint; body: GatewayRequest; onInterrupt: OnInterrupt },
): Promise<Served> {
  const { endpoint, request, requestId, principal, body, onInterrupt } = input;
  const controller = new AbortController();
  const leave = (): void => controller.abort(request.signal.reason);
  if (request.signal.aborted) leave();
  else request.signal.addEventListener('abort', leave, { once: true });
  const forget = onInterrupt((reason) => controller.abort(reason));
  try {
    return await serve({
      endpoint,
      request: body,
      caller: principal,
      requestId,
      signal: controller.signal,
      headers: readCallersHeaders(request.headers),
      atMostOnce: request.headers.get(AT_MOST_ONCE_HEADER) === 'true',
      continues: false,
    });
  } finally {
    forget();
  }
}

/** The response to a caller; one that has disconnected has the status that servers log for it. */
export async function respond(request: Request, run: () => Promise<Served>): Promise<Response> {
  try {
    return toResponse(await run());
  } catch (error) {
    if (request.signal.aborted) return new Response(null, { status: 499 });
    throw error;
  }
}

function toResponse(served: Served): Response {
  const { headers } = served;
  if (served.kind === 'whole') {
    headers['content-type'] = 'application/json';
    return new Response(served.bytes as Uint8Array<ArrayBuffer>, {
      status: served.status,
      headers,
    });
  }
  return new Response(toReadable(served.body), {
    // Intermediate proxies must not buffer a stream.
    headers: {
      ...headers,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    },
  });
}
