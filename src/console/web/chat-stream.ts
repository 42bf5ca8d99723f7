// An answer of a model as it arrives: server-sent events, which the typed client does not read.

import { CallError, toCallError } from './api.ts';
import { endSession, isOffline } from './state.ts';
import { t } from './text.ts';

export type ChatMessage = { role: 'system' | 'user' | 'assistant'; content: string };
export type ChatRequest = { model: string; messages: readonly ChatMessage[]; temperature?: number };

/** The time and tokens of an answer: milliseconds since the request was sent; tokens where the model states them. */
export type Figures = {
  firstMs: number | undefined;
  totalMs: number;
  promptTokens: number | undefined;
  completionTokens: number | undefined;
  /** The target that answered: `upstream/model`. */
  target: string | undefined;
};

/** The body that is sent for a request. */
export const bodyOf = (request: ChatRequest) => ({
  ...request,
  stream: true,
  stream_options: { include_usage: true },
});

type Chunk = {
  choices?: { delta?: { content?: string | null } }[];
  usage?: { prompt_tokens?: number; completion_tokens?: number } | null;
  error?: { message?: string };
};

/**
 * Asks a model, and calls `onText` with each piece of its answer. Throws CallError for a refusal and for a failure in the
 * middle, and an AbortError after `signal`.
 */
export async function streamChat(
  request: ChatRequest,
  { signal, onText }: { signal: AbortSignal; onText(piece: string): void },
): Promise<Figures> {
  const startedAt = performance.now();
  const since = (): number => performance.now() - startedAt;
  const answer = await post(request, signal);
  const figures: Figures = {
    firstMs: undefined,
    totalMs: 0,
    promptTokens: undefined,
    completionTokens: undefined,
    target: answer.headers.get('atrium-model-target') ?? undefined,
  };
  for await (const data of readEvents(answer)) {
    if (data === '[DONE]') break;
    const chunk = JSON.parse(data) as Chunk;
    if (chunk.error !== undefined) throw new CallError(502, chunk.error.message ?? t('playground.broken'));
    const piece = chunk.choices?.[0]?.delta?.content ?? '';
    if (piece !== '') {
      figures.firstMs ??= since();
      onText(piece);
    }
    if (chunk.usage != null) {
      figures.promptTokens = chunk.usage.prompt_tokens;
      figures.completionTokens = chunk.usage.completion_tokens;
    }
  }
  return { ...figures, totalMs: since() };
}

async function post(request: ChatRequest, signal: AbortSignal): Promise<Response> {
  const answer = await fetch('/admin/call/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(bodyOf(request)),
    signal,
  }).catch((error: unknown) => {
    if (signal.aborted) throw error;
    isOffline.value = true;
    throw new CallError(0, t('error.unreachable'));
  });
  if (answer.ok) return answer;
  if (answer.status === 401) endSession();
  throw toCallError(answer.status, await answer.json().catch(() => undefined));
}

/** The data of each event (the HTML standard, 9.2.6); comments keep the connection alive and are left out. */
async function* readEvents({ body }: Response): AsyncGenerator<string> {
  if (body === null) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line.startsWith('data:')) yield line.slice(5).trim();
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
