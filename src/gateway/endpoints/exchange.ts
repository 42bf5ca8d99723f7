// Between HTTP and a model call.

import type { Endpoint } from '../adapters/adapter.ts';
import type { Caller, ModelCall, Served } from '../model-call.ts';
import { readCallersHeaders } from '../passed-headers.ts';
import type { GatewayRequest } from '../request.ts';

/** A request that may reach an upstream once says so with this header. */
export const AT_MOST_ONCE_HEADER = 'atrium-at-most-once';

export function toModelCall(
  endpoint: Endpoint,
  {
    request,
    requestId,
    principal,
    body,
  }: { request: Request; requestId: string; principal: Caller; body: GatewayRequest },
): ModelCall {
  return {
    endpoint,
    request: body,
    caller: principal,
    headers: readCallersHeaders(request.headers),
    atMostOnce: request.headers.get(AT_MOST_ONCE_HEADER) === 'true',
    continues: false,
    requestId,
    signal: request.signal,
  };
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
    // Proxies between must not gather what is meant to flow.
    headers: {
      ...headers,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    },
  });
}
