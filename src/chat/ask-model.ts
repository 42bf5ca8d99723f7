// One call of a model for an answer: its text as it comes, and its end, which is the model's own, a failure, or a stop in the middle.

import { ServiceError, upstreamFailed, upstreamTimeout } from '../core/errors.ts';
import { abortable, within } from '../core/wait.ts';
import type { ChatCall, ChatPart, StreamChat } from '../gateway/chat-call.ts';
import type { CitingAnswer } from './citing/answer.ts';
import { ANSWER_LENGTH_MAX, BYTES_PER_TOKEN } from './limits.ts';
import type { Citation } from './turn.ts';

type AskOptions = {
  citing: CitingAnswer | undefined;
  onText(text: string): void;
  signal: AbortSignal;
  /** Where it aborts, the text so far is the answer. */
  stop: AbortSignal;
  timeoutMs: number;
};

/**
 * Throws a ServiceError if the model fails or takes too long; the reason of `signal` when it aborts, or of `stop` before the first
 * word. The call of the model is cancelled then.
 */
export async function askModel(
  streamChat: StreamChat,
  call: Omit<ChatCall, 'signal'>,
  { citing, onText, signal, stop, timeoutMs }: AskOptions,
): Promise<Collected> {
  const ending = new AbortController();
  const said = createSaid(onText);
  const parts = streamChat({ ...call, signal: ending.signal });
  const collecting = collect(parts, { citing, said });
  try {
    return await within(abortable(collecting, AbortSignal.any([signal, stop])), timeoutMs, () => {
      throw upstreamTimeout('The model did not answer in time');
    });
  } catch (error) {
    ending.abort(error);
    said.end();
    if (!stop.aborted || signal.aborted) throw error instanceof ServiceError ? toModelFailure(error) : error;
    const text = said.text().toWellFormed();
    if (text.trim() === '') throw stop.reason;
    const promptTokens = tokensOf(call.messages.map(({ content }) => content));
    const usage = { promptTokens, completionTokens: tokensOf([text]) };
    const end = { model: call.model ?? null, finishReason: 'stopped', usage };
    return { text, citations: (await citing?.cite(text)) ?? [], end };
  }
}

type End = Omit<Extract<ChatPart, { type: 'end' }>, 'type' | 'model'> & { model: string | null };
type Collected = { text: string; citations: Citation[]; end: End };

/** The text so far; after its end nothing is added, also by a model that goes on. */
type SaidText = { text(): string; add(delta: string): void; end(): void };

function createSaid(onText: (text: string) => void): SaidText {
  let text = '';
  let isOver = false;
  return {
    text: () => text,
    add(delta) {
      if (isOver) return;
      text += delta;
      if (text.length > ANSWER_LENGTH_MAX) throw upstreamFailed("The model's answer is too long");
      onText(delta);
    },
    end() {
      isOver = true;
    },
  };
}

async function collect(
  parts: AsyncIterable<ChatPart>,
  { citing, said }: { citing: CitingAnswer | undefined; said: SaidText },
): Promise<Collected> {
  for await (const part of parts) {
    if (part.type === 'end') {
      const cited = await citing?.end(said.text());
      if (cited !== undefined) said.add(cited.rest);
      return { text: said.text().toWellFormed(), citations: cited?.citations ?? [], end: part };
    }
    // No database holds a NUL.
    const delta = part.text.replaceAll('\0', '');
    said.add(citing?.push(delta) ?? delta);
  }
  throw upstreamFailed('The model broke off its answer');
}

/** Of texts that no model has counted. */
const tokensOf = (texts: readonly string[]): number =>
  Math.ceil(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / BYTES_PER_TOKEN);

const KEPT = new Set(['too-many-requests', 'upstream-failed', 'upstream-timeout', 'unavailable']);

/** All other refusals of a model's call are caused by the agent's configuration, not by the caller. */
const toModelFailure = (error: ServiceError): ServiceError =>
  KEPT.has(error.kind) ? error : upstreamFailed('The model of the agent cannot be asked', { cause: error });
