// The span of a model call, by the semantic conventions for generative AI, and those of its attempts, by the ones for HTTP clients.

import { type Span, type SpanAttributes, showsContent, startSpan } from '../core/tracing.ts';
import type { Outcome } from './accounting/usage-records.ts';
import type { Endpoint } from './adapters/adapter.ts';
import { createContentReader, readPrompt } from './content-attributes.ts';
import type { ModelCall } from './model-call.ts';
import type { Target } from './targets.ts';
import type { Usage } from './usage.ts';

const OPERATIONS: Record<Endpoint, string> = {
  chat: 'chat',
  completions: 'text_completion',
  embeddings: 'embeddings',
  images: 'generate_content',
};
const PROVIDERS = { openai: 'openai', azure: 'azure.ai.openai', anthropic: 'anthropic' } as const;

export type CallSpan = {
  span: Span;
  /** Present where the workspace shows its prompts and answers: to be given the whole answer, or each part of a stream. */
  content?: { add(bytes: Uint8Array): void };
  end(ended: {
    outcome: Outcome;
    usage: Usage;
    cost: number;
    firstEventMs: number | undefined;
    target: Target | undefined;
  }): void;
};

/** Undefined where the trace is not sampled. `model` is a name of the catalogue. */
export function startCallSpan({ endpoint, request, caller }: ModelCall, model: string): CallSpan | undefined {
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
  if (span === undefined) return undefined;
  const content = showsContent(caller.workspaceId) ? createContentReader(endpoint) : undefined;
  if (content !== undefined) span.set(readPrompt(request, endpoint));
  return {
    span,
    ...(content === undefined ? {} : { content }),
    end({ outcome, usage, cost, firstEventMs, target }) {
      const kind = target?.upstream?.spec.kind;
      span.set({
        'gen_ai.provider.name': kind === undefined ? 'atrium' : PROVIDERS[kind],
        'gen_ai.response.model': target?.model,
        'gen_ai.usage.input_tokens': usage.promptTokens,
        'gen_ai.usage.output_tokens': usage.completionTokens,
        'atrium.model.target': target?.name,
        'atrium.model.outcome': outcome,
        'atrium.model.cost': cost,
        'atrium.model.first_event_seconds': firstEventMs === undefined ? undefined : firstEventMs / 1000,
        ...content?.attributes(),
      });
      if (outcome === 'failed') span.fail('upstream-failed');
      span.end();
    },
  };
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
