// Prompts and answers as attributes of a span, for the workspaces that allow it. Larger texts are left out, never cut.

import { parseJson } from '../core/json.ts';
import type { SpanAttributes } from '../core/tracing.ts';
import { type Endpoint, isText } from './adapters/adapter.ts';
import { parseEvents } from './events.ts';
import { SPAN_CONTENT_BYTES_MAX } from './limits.ts';
import type { GatewayRequest } from './request.ts';

type Part = { type: string; content?: string };
type Message = { role: string; parts: Part[]; finish_reason?: string };

/** The messages or the prompt of a request. Undefined for other endpoints, and where they are too large. */
export function readPrompt(request: GatewayRequest, endpoint: Endpoint): SpanAttributes {
  if (!isText(endpoint) || request.sizeBytes > SPAN_CONTENT_BYTES_MAX) return {};
  const { messages: given, prompt } = request.body;
  const messages = endpoint === 'chat' ? given : [{ role: 'user', content: prompt }];
  return Array.isArray(messages) ? toAttribute('gen_ai.input.messages', messages.map(toMessage)) : {};
}

export type ContentReader = { add(bytes: Uint8Array): void; attributes(): SpanAttributes };

/** Reads an answer, whole or as the events of a stream. */
export function createContentReader(endpoint: Endpoint): ContentReader | undefined {
  if (!isText(endpoint)) return undefined;
  let blocks: Uint8Array[] = [];
  let bytes = 0;
  return {
    add(block) {
      bytes += block.length;
      if (bytes <= SPAN_CONTENT_BYTES_MAX) blocks.push(block);
      else blocks = [];
    },
    attributes() {
      if (blocks.length === 0) return {};
      try {
        return toAttribute('gen_ai.output.messages', readAnswer(Buffer.concat(blocks).toString()));
      } catch {
        return {};
      }
    },
  };
}

type Choice = {
  index?: number;
  text?: unknown;
  message?: { content?: unknown };
  delta?: { content?: unknown };
  finish_reason?: unknown;
};

/** A message of each choice. The parts of a stream are joined. */
function readAnswer(text: string): Message[] {
  const isWhole = text.trimStart().startsWith('{');
  const answers = isWhole
    ? [text]
    : parseEvents(text).flatMap(({ data }) => (data === '[DONE]' ? [] : [data]));
  const choices = new Map<number, { content: string; finish: string | undefined }>();
  for (const answer of answers) {
    for (const choice of (parseJson(answer) as { choices?: Choice[] }).choices ?? []) {
      const index = choice.index ?? 0;
      const known = choices.get(index) ?? { content: '', finish: undefined };
      const added = choice.text ?? choice.message?.content ?? choice.delta?.content;
      if (typeof added === 'string') known.content += added;
      if (typeof choice.finish_reason === 'string') known.finish = choice.finish_reason;
      choices.set(index, known);
    }
  }
  return [...choices.values()].map(({ content, finish }) => ({
    role: 'assistant',
    parts: [{ type: 'text', content }],
    ...(finish === undefined ? {} : { finish_reason: finish }),
  }));
}

/** Texts, and the kinds of other parts: pictures and sounds are left out. */
function toMessage(sent: unknown): Message {
  const { role, content } = (sent ?? {}) as { role?: unknown; content?: unknown };
  const parts = Array.isArray(content) ? content.map(toPart) : [toPart({ type: 'text', text: content })];
  return { role: typeof role === 'string' ? role : 'user', parts };
}

function toPart(sent: unknown): Part {
  const { type, text } = (sent ?? {}) as { type?: unknown; text?: unknown };
  return typeof text === 'string'
    ? { type: 'text', content: text }
    : { type: typeof type === 'string' ? type : 'other' };
}

const toAttribute = (name: string, messages: Message[]): SpanAttributes => ({
  [name]: JSON.stringify(messages),
});
