// Between HTTP and a model call.

import type { OnInterrupt } from '../../core/interruption.ts';
import type { Endpoint } from '../adapters/adapter.ts';
import type { Caller, ModelCall, Served } from '../model-call.ts';
import { readCallersHeaders } from '../passed-headers.ts';
import type { GatewayRequest } from '../request.ts';

/** A request that may reach an upstream once says so with this header. */
export const AT_MOST_ONCE_HEADER = 'atrium-at-most-once';

export function toModelCall(
  endpoint: Endpoint,
  options: {
    request: Request;
    requestId: string;
    principal: Caller;
    body: GatewayRequest;
    signal: AbortSignal;
  },
): ModelCall {
  const { request, requestId, principal, body, signal } = options;
  return {
    endpoint,
    request: body,
    caller: principal,
    headers: readCallersHeaders(request.headers),
    atMostOnce: request.headers.get(AT_MOST_ONCE_HEADER) === 'true',
    continues: false,
    requestId,
    signal,
  };
}

/**
 * Asks with a signal that aborts when the caller leaves, and when the service ends before there is an answer. A stream
 * that has begun hears of that end by itself.
 */
export async function askInterruptibly(
  caller: AbortSignal,
  onInterrupt: OnInterrupt,
  ask: (signal: AbortSignal) => Promise<Served>,
): Promise<Served> {
  const controller = new AbortController();
  const leave = (): void => controller.abort(caller.reason);
  if (caller.aborted) leave();
  else caller.addEventListener('abort', leave, { once: true });
  const forget = onInterrupt((reason) => controller.abort(reason));
  try {
    return await ask(controller.signal);
  } finally {
    forget();
  }
}

/** The status that servers log for a client that did not wait. */
export const gone = (): Response => new Response(null, { status: 499 });

export function toResponse(served: Served): Response {
  const { headers } = served;
  if (served.kind === 'whole') {
    headers['content-type'] = 'application/json';
    return new Response(served.bytes as Uint8Array<ArrayBuffer>, {
      status: served.status,
      headers,
    });
  }
  return new Response(served.body, {
    // Intermediate proxies must not buffer a stream.
    headers: {
      ...headers,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    },
  });
}
