// Between HTTP and a model call: the caller's bytes go on, the upstream's come back.

import type { TraceContext } from '../../core/trace-context.ts';
import { stateOf } from '../../http/state.ts';
import type { Endpoint } from '../adapters/adapter.ts';
import type { Caller, ModelCall, Served } from '../model-call.ts';
import { readRequest } from '../request.ts';
import type { Serve } from '../serve.ts';
import { readCallersHeaders } from '../upstream-request.ts';

/** A request that may reach an upstream once says so with this header. */
export const AT_MOST_ONCE_HEADER = 'atrium-at-most-once';

export type GatewayInput = {
  request: Request;
  /** Its body. */
  bytes: Uint8Array;
  requestId: string;
  principal: Caller;
  trace?: TraceContext | undefined;
  keepPermit?(): () => void;
};

export type Forward = (endpoint: Endpoint, input: GatewayInput) => Promise<Response>;

/** Throws OpenAiRefusal. The answer to a disconnected caller is never read. */
export const createForward =
  (deps: { serve: Serve; embeddings: Serve; shutdown: AbortSignal }): Forward =>
  (endpoint, input) =>
    respond(input, deps.shutdown, async (signal) => {
      const serve = endpoint === 'embeddings' ? deps.embeddings : deps.serve;
      return serve(toModelCall(input, { endpoint, request: await readRequest(input.bytes), signal }));
    });

export function toModelCall(
  { request: sent, requestId, principal, trace }: GatewayInput,
  { endpoint, request, signal }: Pick<ModelCall, 'endpoint' | 'request' | 'signal'>,
): ModelCall {
  const { headers } = sent;
  const state = stateOf(sent);
  return {
    endpoint,
    request,
    caller: principal,
    requestId,
    trace,
    signal,
    headers: readCallersHeaders(headers, requestId),
    atMostOnce: headers.get(AT_MOST_ONCE_HEADER) === 'true',
    onModel(model) {
      state.model = model;
    },
  };
}

/**
 * The response to a caller. One that has disconnected has the status that servers log for it. The signal
 * aborts when the caller disconnects, and when the service ends before there is an answer: a stream that has begun hears of
 * that end itself.
 */
export async function respond(
  input: Pick<GatewayInput, 'request' | 'keepPermit'>,
  shutdown: AbortSignal,
  run: (signal: AbortSignal) => Promise<Served>,
): Promise<Response> {
  const { request } = input;
  const ending = new AbortController();
  const end = (): void => ending.abort(shutdown.reason);
  shutdown.addEventListener('abort', end, { once: true });
  try {
    const served = await run(AbortSignal.any([request.signal, ending.signal]));
    return toResponse(served, () => input.keepPermit?.());
  } catch (error) {
    if (request.signal.aborted) return new Response(null, { status: 499 });
    throw error;
  } finally {
    shutdown.removeEventListener('abort', end);
  }
}

function toResponse(served: Served, keepPermit: () => (() => void) | undefined): Response {
  const { headers } = served;
  if (served.kind === 'whole') {
    headers['content-type'] = 'application/json';
    return new Response(served.bytes as Uint8Array<ArrayBuffer>, { status: served.status, headers });
  }
  headers['content-type'] = 'text/event-stream; charset=utf-8';
  headers['cache-control'] = 'no-cache';
  // Intermediate proxies must not buffer a stream.
  headers['x-accel-buffering'] = 'no';
  const release = keepPermit();
  if (release !== undefined) void served.over.then(release);
  return new Response(served.body, { headers });
}
