// The gateway for other areas: a chat completion without HTTP, under the same limits, fallbacks and accounting. The
// request is an object, and so is each part of the answer.

import { ServiceError, upstreamFailed } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import type { ChatCall, ChatPart, ChatUsage, StreamChat } from './chat-call.ts';
import { type EventStream, iterate, parseEvents } from './events.ts';
import type { Served } from './model-call.ts';
import { requestOf } from './request.ts';
import type { Serve } from './serve.ts';
import type { Catalogue } from './targets.ts';
import { fromUsage } from './usage.ts';

type Chunk = {
  model?: string;
  error?: { message?: string; code?: string | null };
  choices?: { delta?: { content?: string | null }; finish_reason?: string | null }[];
  usage?: unknown;
};

export function createStreamChat(deps: {
  serve: Serve;
  catalogue: () => Catalogue | Promise<Catalogue>;
}): StreamChat {
  return async function* streamChat(call: ChatCall): AsyncGenerator<ChatPart> {
    const model = call.model ?? (await deps.catalogue()).defaults.chat;
    const served = await deps.serve({
      endpoint: 'chat',
      request: requestOf({
        model,
        messages: [...call.messages],
        stream: true,
        stream_options: { include_usage: true },
        ...(call.temperature === undefined ? {} : { temperature: call.temperature }),
      }),
      caller: { keyId: '', limits: {}, ...call.caller },
      headers: undefined,
      atMostOnce: false,
      continues: false,
      signal: call.signal,
    });
    if (served.kind === 'whole') throw refusalOf(served);
    yield* readParts(served.body, model ?? '');
    call.signal.throwIfAborted();
  };
}

async function* readParts(stream: EventStream, asked: string): AsyncGenerator<ChatPart> {
  const end = {
    model: asked,
    finishReason: 'stop',
    usage: { promptTokens: 0, completionTokens: 0, totalTokens: 0 },
  };
  let complete = false;
  // It drops a byte order mark at the beginning.
  const decoder = new TextDecoder();
  for await (const block of iterate(stream)) {
    for (const { data } of parseEvents(decoder.decode(block, { stream: true }))) {
      if (data === '[DONE]') {
        complete = true;
        continue;
      }
      const { model, error, choices, usage } = parseChunk(data);
      if (error !== undefined) throw failureOf(error);
      if (typeof model === 'string') end.model = withoutNul(model);
      const choice = choices?.[0];
      const text = choice?.delta?.content;
      if (typeof text === 'string' && text !== '') yield { type: 'delta', text };
      if (typeof choice?.finish_reason === 'string') end.finishReason = withoutNul(choice.finish_reason);
      end.usage = toUsage(usage) ?? end.usage;
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
function failureOf({ message, code }: NonNullable<Chunk['error']>): ServiceError {
  const sentence = typeof message === 'string' ? withoutNul(message) : 'The model failed';
  return /^upstream_\w+_timeout$/.test(code ?? '')
    ? new ServiceError('upstream-timeout', sentence)
    : upstreamFailed(sentence);
}

/** Upstreams send arbitrary values; invalid counts are omitted. */
function toUsage(told: unknown): ChatUsage | undefined {
  const usage = fromUsage(told);
  if (usage === undefined) return undefined;
  const { promptTokens, completionTokens } = usage;
  if (promptTokens + completionTokens > COUNT_MAX) return undefined;
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
}

const COUNT_MAX = 2 ** 31 - 1;

/** No database holds a NUL. */
const withoutNul = (text: string): string => text.replaceAll('\u0000', '');

/** The upstream's own refusal, in the words of this service. */
export function refusalOf({ status, bytes, headers }: Extract<Served, { kind: 'whole' }>): ServiceError {
  const { error } = parseJson(Buffer.from(bytes).toString()) as { error?: { message?: unknown } };
  const sentence = typeof error?.message === 'string' ? withoutNul(error.message) : 'The model failed';
  if (status === 408 || status === 504) return new ServiceError('upstream-timeout', sentence);
  if (status !== 429) return upstreamFailed(sentence);
  const seconds = Math.ceil(Number(headers['retry-after']));
  return new ServiceError('too-many-requests', sentence, seconds > 0 ? { retryAfterSeconds: seconds } : {});
}
