// The gateway for other areas: a chat completion without HTTP, under the same limits, fallbacks and accounting. The
// request is an object, and so is each part of the answer.

import { ServiceError, upstreamFailed } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import type { CatalogueKeeper } from './catalogue/current.ts';
import type { ChatCall, ChatPart, StreamChat } from './chat-call.ts';
import { parseEvents } from './events.ts';
import type { Served } from './model-call.ts';
import { GatewayRequest } from './request.ts';
import type { ModelService } from './serve.ts';
import { fromUsage, NO_USAGE } from './usage.ts';

type Parts = AsyncGenerator<ChatPart>;

/** Upstreams send arbitrary values. */
type Delta = {
  content?: unknown;
  refusal?: unknown;
  reasoning?: unknown;
  reasoning_content?: unknown;
  tool_calls?: unknown;
  function_call?: unknown;
};

type Chunk = {
  model?: string;
  error?: { message?: string; code?: string | null };
  choices?: { delta?: Delta | null; finish_reason?: string | null }[];
  usage?: unknown;
};

export function createStreamChat(deps: { service: ModelService; catalogue: CatalogueKeeper }): StreamChat {
  return async function* streamChat(call: ChatCall): Parts {
    const model = call.model ?? (await deps.catalogue.current()).defaults.chat;
    const served = await deps.service.serve({
      endpoint: 'chat',
      request: new GatewayRequest({
        model,
        messages: [...call.messages],
        stream: true,
        stream_options: { include_usage: true },
        ...(call.temperature === undefined ? {} : { temperature: call.temperature }),
      }),
      caller: { keyId: '', limits: {}, ...call.caller },
      signal: call.signal,
    });
    if (served.kind === 'whole') throw refusalOf(served);
    yield* readParts(served.body, model ?? '');
    call.signal.throwIfAborted();
  };
}

async function* readParts(stream: ReadableStream<Uint8Array>, asked: string): Parts {
  const end = { model: asked, finishReason: 'stop', usage: NO_USAGE };
  const contents: Contents = { reasoning: false, toolCalls: false };
  let [hasText, complete] = [false, false];
  // It drops a byte order mark at the beginning.
  const decoder = new TextDecoder();
  for await (const block of stream as unknown as AsyncIterable<Uint8Array>) {
    for (const { data } of parseEvents(decoder.decode(block, { stream: true }))) {
      if (data === '[DONE]') {
        complete = true;
        continue;
      }
      const { model, error, choices, usage } = parseChunk(data);
      if (error !== undefined) throw failureOf(error);
      if (typeof model === 'string') end.model = withoutNul(model);
      const choice = choices?.[0];
      const delta = choice?.delta ?? {};
      const text = partsText(delta.content) + asText(delta.refusal);
      hasText ||= text.trim() !== '';
      noteContents(contents, delta);
      if (text !== '') yield { type: 'delta', text };
      if (typeof choice?.finish_reason === 'string') end.finishReason = withoutNul(choice.finish_reason);
      const told = fromUsage(usage);
      // Upstreams send arbitrary values; invalid counts are omitted.
      if (told !== undefined && told.promptTokens + told.completionTokens <= COUNT_MAX) end.usage = told;
    }
  }
  if (complete && !hasText) throw upstreamFailed(reasonForNoText(end.finishReason, contents));
  if (complete) yield { type: 'end', ...end };
}

function parseChunk(data: string): Chunk {
  try {
    return (parseJson(data) ?? {}) as Chunk;
  } catch (error) {
    throw upstreamFailed('The upstream returned an invalid response', { cause: error });
  }
}

/** The text of a content, which is a text, or a list of parts, as Mistral's models send it beside their reasoning. */
const partsText = (content: unknown): string =>
  Array.isArray(content) ? content.map(partText).join('') : partText(content);

const TEXT_TYPES = new Set([undefined, 'text', 'output_text', 'refusal']);

function partText(part: unknown): string {
  if (typeof part !== 'object' || part === null) return asText(part);
  const { type, text, refusal } = part as { type?: string; text?: unknown; refusal?: unknown };
  return TEXT_TYPES.has(type) ? asText(text) + asText(refusal) : '';
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : '');

/** What an answer contained besides text. */
type Contents = { reasoning: boolean; toolCalls: boolean };

function noteContents(contents: Contents, delta: Delta): void {
  const { content, reasoning, reasoning_content: reasoned, tool_calls: calls, function_call: call } = delta;
  const thinks = Array.isArray(content) && content.length > 0 && partsText(content) === '';
  contents.reasoning ||= asText(reasoning) !== '' || asText(reasoned) !== '' || thinks;
  contents.toolCalls ||= (Array.isArray(calls) && calls.length > 0) || (call ?? undefined) !== undefined;
}

/** Why an answer without text has none. */
function reasonForNoText(finishReason: string, { reasoning, toolCalls }: Contents): string {
  if (finishReason === 'content_filter') return "The model's content filter withheld the answer";
  if (toolCalls || finishReason === 'tool_calls' || finishReason === 'function_call')
    return 'The model called a tool instead of answering';
  if (finishReason === 'length') return 'The model reached its token limit before it answered';
  if (reasoning) return 'The model returned its reasoning, but no answer';
  return 'The model returned an empty answer';
}

/** An error within the stream, by the code that it bears. */
function failureOf({ message, code }: NonNullable<Chunk['error']>): ServiceError {
  const sentence = typeof message === 'string' ? withoutNul(message) : 'The model failed';
  return /^upstream_\w+_timeout$/.test(code ?? '')
    ? new ServiceError('upstream-timeout', sentence)
    : upstreamFailed(sentence);
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
