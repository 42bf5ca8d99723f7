// Completions, images and embeddings as SDKs ask for them: the caller's bytes go on, the upstream's come back.

import { readDecodedBody } from '../../http/body.ts';
import type { Endpoint } from '../adapters/adapter.ts';
import { REQUEST_BYTES_MAX } from '../limits.ts';
import type { Caller } from '../model-call.ts';
import { readRequest } from '../request.ts';
import type { Serve } from '../serve.ts';
import type { ServeEmbeddings } from './embeddings.ts';
import { gone, toModelCall, toResponse } from './exchange.ts';

export type Forward = (
  endpoint: Endpoint,
  input: { request: Request; requestId: string; principal: Caller },
) => Promise<Response>;

/** Throws OpenAiRefusal, and what `readDecodedBody` throws. A caller that has gone gets an answer that nobody reads. */
export function createForward({ serve, embeddings }: { serve: Serve; embeddings: ServeEmbeddings }): Forward {
  return async (endpoint, { request, requestId, principal }) => {
    try {
      const body = readRequest(await readDecodedBody(request, REQUEST_BYTES_MAX));
      const call = toModelCall(endpoint, { request, requestId, principal, body });
      return toResponse(await (endpoint === 'embeddings' ? embeddings(call) : serve(call)));
    } catch (error) {
      if (request.signal.aborted) return gone();
      throw error;
    }
  };
}
