// From a question to its answer: by a bot's list, or by a model.

import { ServiceError, upstreamFailed, upstreamTimeout } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { abortable, within } from '../core/wait.ts';
import type { ChatPart, StreamChat } from '../gateway/chat-call.ts';
import { type Agent, type FindAgent, replyTo } from './agents.ts';
import type { Knowledge, Passage } from './knowledge.ts';
import { ANSWER_LENGTH_MAX, TURN_TIMEOUT_MS } from './limits.ts';
import type { Memory } from './memory.ts';
import { toPrompt } from './prompt.ts';
import type { Answer, Turn } from './turn.ts';

export type GenerateDeps = {
  findAgent: FindAgent;
  memory: Memory;
  knowledge: Knowledge;
  streamChat: StreamChat;
  log: Logger;
  /** Default: ten minutes. */
  timeoutMs?: number;
};

export type Generate = (
  turn: Turn,
  options: { onText(text: string): void; signal: AbortSignal },
) => Promise<Answer>;

/**
 * Makes an answer within its time limit. Throws a ServiceError if the model fails, the signal's reason when it aborts,
 * and errors of the database.
 */
export function createGenerate({
  findAgent,
  memory,
  knowledge,
  streamChat,
  log,
  timeoutMs = TURN_TIMEOUT_MS,
}: GenerateDeps): Generate {
  const findPassages = async (agent: Agent, turn: Turn): Promise<Passage[]> => {
    const { workspaceId, caller, message } = turn;
    const { readsAs } = caller;
    if (agent.knowledge === 'none' || readsAs == null) return [];
    try {
      return await knowledge.find({ workspaceId, email: readsAs, text: message });
    } catch (error) {
      // An answer without citations is better than none.
      log.warn({ err: error, workspace_id: workspaceId }, 'knowledge could not be searched');
      return [];
    }
  };

  return async (turn, { onText, signal }) => {
    const agent = await findAgent(turn);
    if (agent.kind === 'bot') return cannedAnswer(agent, turn, onText);
    const window = { messagesMax: agent.historyMessages, tokensMax: agent.historyTokens };
    const [earlier, passages] = await Promise.all([memory.before(turn, window), findPassages(agent, turn)]);
    const { instructions } = agent;
    const messages = toPrompt({ instructions, passages, earlier, question: turn.message });
    const { keyId, limits, email } = turn.caller;
    signal.throwIfAborted();
    // Ends the call of the model where the answer is not waited for any more.
    const ending = new AbortController();
    const parts = streamChat({
      caller: {
        workspaceId: turn.workspaceId,
        email,
        ...(keyId === undefined ? {} : { keyId }),
        ...(limits === undefined ? {} : { limits }),
      },
      ...(agent.model === null ? {} : { model: agent.model }),
      messages,
      ...(agent.temperature === null ? {} : { temperature: agent.temperature }),
      signal: ending.signal,
    });
    try {
      const { text, end } = await within(abortable(collect(parts, onText), signal), timeoutMs, () => {
        throw upstreamTimeout('The model did not answer in time');
      });
      const { promptTokens, completionTokens } = end.usage;
      memory.remember(turn, { window, earlier, answer: text });
      const citations = passages.map(({ document_id, name, score }) => ({ document_id, name, score }));
      return {
        message: text,
        citations,
        agentId: agent.id,
        kind: agent.kind,
        model: end.model,
        finishReason: end.finishReason,
        promptTokens,
        completionTokens,
      };
    } catch (error) {
      ending.abort(error);
      throw error instanceof ServiceError ? toModelFailure(error) : error;
    }
  };
}

const cannedAnswer = (agent: Agent, { message }: Turn, onText: (text: string) => void): Answer => {
  const reply = replyTo(agent, message);
  onText(reply);
  return {
    message: reply,
    citations: [],
    agentId: agent.id,
    kind: agent.kind,
    model: null,
    finishReason: 'stop',
    promptTokens: 0,
    completionTokens: 0,
  };
};

type End = Extract<ChatPart, { type: 'end' }>;

async function collect(
  parts: AsyncIterable<ChatPart>,
  onText: (text: string) => void,
): Promise<{ text: string; end: End }> {
  let text = '';
  for await (const part of parts) {
    if (part.type === 'end') return { text: text.toWellFormed(), end: part };
    // No database holds a NUL.
    const delta = part.text.replaceAll('\0', '');
    text += delta;
    if (text.length > ANSWER_LENGTH_MAX) throw upstreamFailed("The model's answer is too long");
    onText(delta);
  }
  throw upstreamFailed('The model broke off its answer');
}

const KEPT = new Set(['too-many-requests', 'upstream-failed', 'upstream-timeout', 'unavailable']);

/** All other refusals of a model's call are caused by the agent's configuration, not by the caller. */
const toModelFailure = (error: ServiceError): ServiceError =>
  KEPT.has(error.kind) ? error : upstreamFailed('The model of the agent cannot be asked', { cause: error });
