// Completions, images and embeddings as SDKs ask for them: the caller's bytes go on, the upstream's come back.

import type { OnInterrupt } from '../../core/interruption.ts';
import { readDecodedBody } from '../../http/body.ts';
import type { Endpoint } from '../adapters/adapter.ts';
import { REQUEST_BYTES_MAX } from '../limits.ts';
import type { Caller, ModelCall } from '../model-call.ts';
import { readRequest } from '../request.ts';
import type { Serve } from '../serve.ts';
import type { ServeEmbeddings } from './embeddings.ts';
import { askInterruptibly, gone, toModelCall, toResponse } from './exchange.ts';

export type Forward = (
  endpoint: Endpoint,
  input: { request: Request; requestId: string; principal: Caller },
) => Promise<Response>;

/** Throws OpenAiRefusal, and the errors of `readDecodedBody`. The answer to a disconnected caller is never read. */
export function createForward({
  serve,
  embeddings,
  onInterrupt,
}: {
  serve: Serve;
  embeddings: ServeEmbeddings;
  onInterrupt: OnInterrupt;
}): Forward {
  const ask = (call: ModelCall) => (call.endpoint === 'embeddings' ? embeddings(call) : serve(call));
  return async (endpoint, { request, requestId, principal }) => {
    try {
      const body = readRequest(await readDecodedBody(request, REQUEST_BYTES_MAX));
      const served = await askInterruptibly(request.signal, onInterrupt, (signal) =>
        ask(toModelCall(endpoint, { request, requestId, principal, body, signal })),
      );
      return toResponse(served);
    } catch (error) {
      if (request.signal.aborted) return gone();
      throw error;
    }
  };
}
