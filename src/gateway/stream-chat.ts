// The gateway for other areas: a chat completion without HTTP, under the same limits, fallbacks and accounting.

import { ServiceError, upstreamFailed } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import type { ChatCall, ChatPart, StreamChat } from './chat-call.ts';
import { parseEvents } from './events.ts';
import { readRequest } from './request.ts';
import type { Serve } from './serve.ts';
import type { Catalogue } from './targets.ts';

type Chunk = {
  model?: string;
  error?: { message?: string; code?: string | null };
  choices?: { delta?: { content?: string | null }; finish_reason?: string | null }[];
  usage?: { prompt_tokens?: number; completion_tokens?: number; total_tokens?: number } | null;
};

export function createStreamChat(deps: {
  serve: Serve;
  catalogue: () => Catalogue | Promise<Catalogue>;
}): StreamChat {
  return async function* streamChat(call: ChatCall): AsyncGenerator<ChatPart> {
    const model = call.model ?? (await deps.catalogue()).defaults.chat;
    const body = {
      ...{ model, messages: call.messages, stream: true, stream_options: { include_usage: true } },
      ...(call.temperature === undefined ? {} : { temperature: call.temperature }),
    };
    const served = await deps.serve({
      endpoint: 'chat',
      request: readRequest(Buffer.from(JSON.stringify(body))),
      caller: { keyId: '', limits: {}, ...call.caller },
      headers: undefined,
      ...{ atMostOnce: false, continues: false },
      signal: call.signal,
    });
    if (served.kind === 'whole') throw refusalOf(served.status, served.bytes);
    yield* readParts(served.body, model ?? '');
    call.signal.throwIfAborted();
  };
}

async function* readParts(body: ReadableStream<Uint8Array>, asked: string): AsyncGenerator<ChatPart> {
  const end = {
    model: asked,
    finishReason: 'stop',
    usage: { promptTokens: 0, completionTokens: 0, totalTokens: 0 },
  };
  const decoder = new TextDecoder();
  let complete = false;
  for await (const block of body as unknown as AsyncIterable<Uint8Array>) {
    for (const { data } of parseEvents(decoder.decode(block, { stream: true }))) {
      if (data === '[DONE]') {
        complete = true;
        continue;
      }
      const { model, error, choices, usage } = parseChunk(data);
      if (error !== undefined) throw failureOf(error);
      if (model !== undefined) end.model = model;
      const choice = choices?.[0];
      const text = choice?.delta?.content;
      if (typeof text === 'string' && text !== '') yield { type: 'delta', text };
      if (typeof choice?.finish_reason === 'string') end.finishReason = choice.finish_reason;
      if (usage != null) end.usage = toUsage(usage);
    }
  }
  if (complete) yield { type: 'end', ...end };
}

function parseChunk(data: string): Chunk {
  try {
    return (parseJson(data) ?? {}) as Chunk;
  } catch (error) {
    throw upstreamFailed('The upstream answered with something that is no answer', { cause: error });
  }
}

/** An error within the stream, by the code that it bears. */
const failureOf = ({ message = 'The model failed', code }: NonNullable<Chunk['error']>): ServiceError =>
  /^upstream_\w+_timeout$/.test(code ?? '')
    ? new ServiceError('upstream-timeout', message)
    : upstreamFailed(message);

const toUsage = ({
  prompt_tokens = 0,
  completion_tokens = 0,
  total_tokens,
}: NonNullable<Chunk['usage']>) => ({
  promptTokens: prompt_tokens,
  completionTokens: completion_tokens,
  totalTokens: total_tokens ?? prompt_tokens + completion_tokens,
});

/** The upstream's own refusal, in the words of this service. */
function refusalOf(status: number, bytes: Uint8Array): ServiceError {
  const { error } = parseJson(Buffer.from(bytes).toString()) as { error?: { message?: string } };
  const sentence = error?.message ?? 'The model failed';
  return new ServiceError(status === 429 ? 'too-many-requests' : 'upstream-failed', sentence);
}
