// The span of a model call, by the semantic conventions for generative AI, and those of its attempts, by the ones for HTTP clients.

import { parseJson } from '../core/json.ts';
import { type Span, type SpanAttributes, showsContent, startSpan } from '../core/tracing.ts';
import type { Outcome } from './accounting/usage-records.ts';
import { parseEvents } from './events.ts';
import { SPAN_CONTENT_BYTES_MAX } from './limits.ts';
import type { ModelCall } from './model-call.ts';
import { type Endpoint, isText } from './request.ts';
import type { Target } from './targets.ts';
import type { Usage } from './usage.ts';

const OPERATIONS: Record<Endpoint, string> = {
  chat: 'chat',
  completions: 'text_completion',
  embeddings: 'embeddings',
  images: 'generate_content',
};
const PROVIDERS = { openai: 'openai', azure: 'azure.ai.openai', anthropic: 'anthropic' } as const;

/** Undefined where the trace is not sampled. `model` is a name of the catalogue. */
export function startCallSpan(call: ModelCall, model: string): CallSpan | undefined {
  const { endpoint, request } = call;
  const operation = OPERATIONS[endpoint];
  const span = startSpan(`${operation} ${model}`, () => ({
    kind: 'client',
    attributes: {
      'gen_ai.operation.name': operation,
      'gen_ai.request.model': model,
      'gen_ai.request.stream': request.stream,
      'gen_ai.output.type': endpoint === 'images' ? 'image' : undefined,
    },
  }));
  return span && new CallSpan(span, call);
}

export class CallSpan {
  readonly span: Span;
  /** The answer; only where the workspace shows its prompts and answers. Larger texts are left out, never cut. */
  private readonly answer: Uint8Array[] | undefined;
  private answerBytes = 0;

  constructor(span: Span, { caller, endpoint, request }: ModelCall) {
    this.span = span;
    if (!isText(endpoint) || !showsContent(caller.workspaceId)) return;
    this.answer = [];
    if (request.sizeBytes > SPAN_CONTENT_BYTES_MAX) return;
    const { messages, prompt } = request.body;
    const sent = endpoint === 'chat' ? messages : [{ role: 'user', content: prompt ?? null }];
    if (Array.isArray(sent)) span.set({ 'gen_ai.input.messages': JSON.stringify(sent.map(toMessage)) });
  }

  /** The whole answer, or a part of a stream. */
  addAnswer(bytes: Uint8Array): void {
    this.answerBytes += bytes.length;
    if (this.answerBytes <= SPAN_CONTENT_BYTES_MAX) this.answer?.push(bytes);
  }

  end(ended: {
    outcome: Outcome;
    usage: Usage;
    cost: number;
    firstEventMs: number | undefined;
    target: Target | undefined;
  }): void {
    const { outcome, usage, cost, firstEventMs, target } = ended;
    const kind = target?.upstream?.spec.kind;
    this.span.set({
      'gen_ai.provider.name': kind === undefined ? 'atrium' : PROVIDERS[kind],
      'gen_ai.response.model': target?.model,
      'gen_ai.usage.input_tokens': usage.promptTokens,
      'gen_ai.usage.output_tokens': usage.completionTokens,
      'atrium.model.target': target?.name,
      'atrium.model.outcome': outcome,
      'atrium.model.cost': cost,
      'atrium.model.first_event_seconds': firstEventMs === undefined ? undefined : firstEventMs / 1000,
    });
    if (this.answer !== undefined && this.answer.length > 0 && this.answerBytes <= SPAN_CONTENT_BYTES_MAX)
      this.span.set(readAnswer(Buffer.concat(this.answer).toString()));
    if (outcome === 'failed') this.span.fail('upstream-failed');
    this.span.end();
  }
}

/** Undefined where the trace is not sampled. The query of a URL may hold a credential. */
export const startAttemptSpan = ({ name }: Target, url: string): Span | undefined =>
  startSpan('POST', () => {
    const { origin, pathname, hostname, port, protocol } = new URL(url);
    const attributes: SpanAttributes = {
      'http.request.method': 'POST',
      'url.full': `${origin}${pathname}`,
      'server.address': hostname,
      'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
      'atrium.model.target': name,
    };
    return { kind: 'client', attributes };
  });

export function noteStatus(span: Span, status: number): void {
  span.set({ 'http.response.status_code': status });
  if (status >= 400) span.fail(String(status));
}

type Choice = {
  index?: number;
  text?: unknown;
  message?: { content?: unknown };
  delta?: { content?: unknown };
  finish_reason?: unknown;
};

/** A message of each choice. The parts of a stream are joined. */
function readAnswer(text: string): SpanAttributes {
  try {
    const isWhole = text.trimStart().startsWith('{');
    const answers = isWhole ? [text] : parseEvents(text).map(({ data }) => data);
    const choices = new Map<number, { content: string; finish?: string }>();
    for (const answer of answers) {
      if (answer === '[DONE]') continue;
      for (const choice of (parseJson(answer) as { choices?: Choice[] }).choices ?? []) {
        const known = choices.get(choice.index ?? 0) ?? { content: '' };
        const added = choice.text ?? choice.message?.content ?? choice.delta?.content;
        if (typeof added === 'string') known.content += added;
        if (typeof choice.finish_reason === 'string') known.finish = choice.finish_reason;
        choices.set(choice.index ?? 0, known);
      }
    }
    const messages = [...choices.values()].map(({ content, finish }) => ({
      role: 'assistant',
      parts: [{ type: 'text', content }],
      ...(finish !== undefined && { finish_reason: finish }),
    }));
    return { 'gen_ai.output.messages': JSON.stringify(messages) };
  } catch {
    return {};
  }
}

/** Texts, and the kinds of other parts: pictures and sounds are left out. */
function toMessage(sent: unknown) {
  const { role, content } = (sent ?? {}) as { role?: unknown; content?: unknown };
  const parts: unknown[] = Array.isArray(content) ? content : [{ text: content }];
  return {
    role: typeof role === 'string' ? role : 'user',
    parts: parts.map((part) => {
      const { type, text } = (part ?? {}) as { type?: unknown; text?: unknown };
      if (typeof text === 'string') return { type: 'text', content: text };
      return { type: typeof type === 'string' ? type : 'other' };
    }),
  };
}
