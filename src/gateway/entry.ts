// Between HTTP and a model call: what comes in on a wire becomes a call, and what was served a response. A further wire meets the
// upstreams here.

import type { RequestState } from '../http/state.ts';
import type { Caller, ModelCall, Served } from './model-call.ts';
import { type Endpoint, type GatewayRequest, readRequest } from './request.ts';
import type { ModelService } from './serve.ts';
import { readCallersHeaders } from './upstream-request.ts';

/** A request that may reach an upstream once says so with this header. */
export const AT_MOST_ONCE_HEADER = 'atrium-at-most-once';

/** A request with its body. */
export type Arrival = { request: Request; body: Uint8Array; principal: Caller; state: RequestState };

export class Entry {
  private readonly service: ModelService;
  private readonly shutdown: AbortSignal;

  constructor(service: ModelService, shutdown: AbortSignal) {
    this.service = service;
    this.shutdown = shutdown;
  }

  /** A body in OpenAI's form. Throws OpenAiRefusal. */
  forward(endpoint: Endpoint, arrival: Arrival): Promise<Response> {
    return this.respond(arrival, async (signal) =>
      this.serve(arrival, { endpoint, request: await readRequest(arrival.body), signal }),
    );
  }

  /** Serves a call of the arrival's caller. Throws OpenAiRefusal. */
  async serve(
    { request: { headers }, principal, state }: Arrival,
    asked: { endpoint: Endpoint; request: GatewayRequest; signal: AbortSignal },
  ): Promise<Served> {
    const call: ModelCall = {
      ...asked,
      caller: principal,
      requestId: state.requestId,
      trace: state.trace,
      headers: readCallersHeaders(headers, state.requestId),
      atMostOnce: headers.get(AT_MOST_ONCE_HEADER) === 'true',
    };
    try {
      return await this.service.serve(call);
    } finally {
      state.model = call.modelId;
    }
  }

  /**
   * The response to a caller. One that has disconnected has the status that servers log for it. The signal aborts when the caller
   * disconnects, and when the service ends before there is an answer: a stream that has begun hears of that end itself.
   */
  async respond(
    { request, state }: Arrival,
    run: (signal: AbortSignal) => Promise<Served>,
  ): Promise<Response> {
    const leaving = new AbortController();
    request.signal.addEventListener('abort', () => leaving.abort(request.signal.reason), { once: true });
    const onShutdown = (): void => leaving.abort(this.shutdown.reason);
    this.shutdown.addEventListener('abort', onShutdown, { once: true });
    try {
      return toResponse(await run(leaving.signal), state);
    } catch (error) {
      if (request.signal.aborted) return new Response(null, { status: 499 });
      throw error;
    } finally {
      this.shutdown.removeEventListener('abort', onShutdown);
    }
  }
}

function toResponse(served: Served, state: RequestState): Response {
  const { headers } = served;
  if (served.kind === 'whole') {
    headers['content-type'] = 'application/json';
    return new Response(served.bytes as Uint8Array<ArrayBuffer>, { status: served.status, headers });
  }
  headers['content-type'] = 'text/event-stream; charset=utf-8';
  headers['cache-control'] = 'no-cache';
  // Intermediate proxies must not buffer a stream.
  headers['x-accel-buffering'] = 'no';
  void served.over.then(state.keepPermit());
  return new Response(served.body, { headers });
}
