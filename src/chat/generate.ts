// From a question to its answer: agent → history → passages → prompt → model → citations, or a reply of a bot's list.

import { ServiceError, unavailable, upstreamFailed, upstreamTimeout } from '../core/errors.ts';
import { createPauses } from '../core/time-slices.ts';
import { withSpan } from '../core/tracing.ts';
import { abortable } from '../core/wait.ts';
import type { ChatCall, ChatPart, StreamChat } from '../gateway/chat-call.ts';
import type { Transaction } from '../infra/postgres/client.ts';
import type { Agent, AgentCache } from './agents.ts';
import { type CitingAnswer, createCitingAnswer } from './citations.ts';
import { readHistory } from './history.ts';
import type { Knowledge } from './knowledge.ts';
import {
  ANSWER_LENGTH_MAX,
  BYTES_PER_TOKEN,
  CONTEXT_QUESTIONS_MAX,
  HISTORY_MESSAGES_DEFAULT,
  HISTORY_TOKENS_DEFAULT,
  NOT_FOUND_TEXT_DEFAULT,
  TURN_TIMEOUT_MS,
} from './limits.ts';
import { toPrompt } from './prompt.ts';
import type { Answer, Citation, Said, Turn } from './turn.ts';
import { idsOf } from './turns.ts';

export type GenerateDeps = {
  sql: Transaction;
  agents: AgentCache;
  knowledge: Knowledge;
  streamChat: StreamChat;
  /** Default: ten minutes. */
  timeoutMs?: number;
};

/** `signal` abandons the answer; where `stop` aborts, the text so far is the answer. */
type Signals = { signal: AbortSignal; stop: AbortSignal };

/**
 * Makes an answer within its time limit. Throws a ServiceError if the model fails, or if the documents cannot be searched
 * for an agent that answers from them alone; the reason of `signal` when it aborts, or of `stop` before the first word; and errors
 * of the database.
 */
export function createGenerate(deps: GenerateDeps) {
  const { sql, agents, knowledge, streamChat, timeoutMs = TURN_TIMEOUT_MS } = deps;

  const generate = async (
    turn: Turn,
    onText: (text: string) => void,
    { signal, stop }: Signals,
  ): Promise<Answer> => {
    const leaving = AbortSignal.any([signal, stop]);
    const { workspaceId, caller, message: question } = turn;
    // 1. Who answers: a bot has its answers already.
    const agent = (await agents.find({ workspaceId, ids: idsOf(turn) })) ?? FALLBACK_AGENT;
    const fixed = (message: string): Answer => {
      onText(message);
      return { ...NO_MODEL, message, agentId: agent.id, kind: agent.kind };
    };
    if (agent.kind === 'bot') return fixed(await replyTo(agent.replies, question, leaving));
    // 2. What was said before, and what the documents say.
    const { history_messages: messagesMax, history_tokens: tokensMax, knowledge_only: knowledgeOnly } = agent;
    const earlier = await readHistory(sql, turn.parentId, { messagesMax, tokensMax });
    const { passages, isWhole } = await findPassages(agent, { turn, earlier, signal: leaving });
    const notFoundText = agent.not_found_text ?? NOT_FOUND_TEXT_DEFAULT;
    if (knowledgeOnly && passages.length === 0) {
      // Saying that nothing is there would be wrong.
      if (!isWhole) throw unavailable('The documents cannot be searched');
      return fixed(notFoundText);
    }
    leaving.throwIfAborted();
    // 3. The model's text, with the citations of the passages that it was shown.
    const unsupportedText = knowledgeOnly ? notFoundText : undefined;
    const citing =
      passages.length === 0 ? undefined : createCitingAnswer({ question, passages, unsupportedText });
    const { email, keyId, limits } = caller;
    const call = {
      caller: {
        workspaceId,
        email,
        ...(keyId === undefined ? {} : { keyId }),
        ...(limits === undefined ? {} : { limits }),
      },
      ...(agent.model === null ? {} : { model: agent.model }),
      messages: toPrompt({ instructions: agent.instructions, passages, knowledgeOnly, earlier, question }),
      ...(agent.temperature === null ? {} : { temperature: agent.temperature }),
    };
    const said = await askModel(streamChat, call, onText, { citing, signal, stop, timeoutMs });
    return { ...said, agentId: agent.id, kind: agent.kind };
  };

  const findPassages = async (
    agent: Agent,
    { turn, earlier, signal }: { turn: Turn; earlier: readonly Said[]; signal: AbortSignal },
  ) => {
    const { workspaceId, caller, message: question } = turn;
    const { email, keyId = '', limits = {}, readsAs } = caller;
    if (agent.knowledge === 'none' || readsAs === null) return { passages: [], isWhole: true };
    const questions = earlier.filter(({ role }) => role === 'user').map(({ message }) => message);
    const payer = { email, keyId, limits, isPart: true };
    return knowledge.find(
      { workspaceId, email: readsAs, question, earlier: questions.slice(-CONTEXT_QUESTIONS_MAX), payer },
      signal,
    );
  };

  return (turn: Turn, onText: (text: string) => void, signals: Signals): Promise<Answer> => {
    const attributes = {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.conversation.id': String(turn.sessionId),
    };
    return withSpan(
      'invoke_agent',
      () => ({ attributes }),
      async (span) => {
        const answer = await generate(turn, onText, signals);
        span?.set({ 'gen_ai.agent.id': answer.agentId, 'atrium.agent.kind': answer.kind });
        return answer;
      },
    );
  };
}

/** The agent of a workspace that has no default one. */
const FALLBACK_AGENT: Agent = {
  id: undefined,
  kind: 'persona',
  model: null,
  instructions: '',
  temperature: null,
  history_messages: HISTORY_MESSAGES_DEFAULT,
  history_tokens: HISTORY_TOKENS_DEFAULT,
  knowledge: 'none',
  knowledge_only: false,
  not_found_text: null,
  replies: [],
};

const NO_MODEL = { citations: [], model: null, finishReason: 'stop', promptTokens: 0, completionTokens: 0 };

/**
 * The first reply whose match is part of the message, in any case; `*` matches all, and `''` is the answer if none does. Agents may have a
 * thousand replies, and messages half a megabyte, so other work runs in between. Throws the signal's reason when it aborts.
 */
export async function replyTo(
  replies: Agent['replies'],
  message: string,
  signal: AbortSignal,
): Promise<string> {
  const text = message.toLowerCase();
  const pause = createPauses();
  for (const { match, reply } of replies) {
    await pause();
    signal.throwIfAborted();
    if (match === '*' || text.includes(match.toLowerCase())) return reply;
  }
  return '';
}

type ModelAnswer = Omit<Answer, 'agentId' | 'kind'>;

/** One call of a model: its text as it comes, and its end, which is the model's own, a failure, or a stop in the middle. */
async function askModel(
  streamChat: StreamChat,
  call: Omit<ChatCall, 'signal'>,
  onText: (text: string) => void,
  { citing, signal, stop, timeoutMs }: Signals & { citing: CitingAnswer | undefined; timeoutMs: number },
): Promise<ModelAnswer> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(upstreamTimeout('The model did not answer in time')), timeoutMs);
  const leaving = AbortSignal.any([signal, stop, late.signal]);
  let text = '';
  const add = (delta: string): void => {
    leaving.throwIfAborted();
    text += delta;
    if (text.length > ANSWER_LENGTH_MAX) throw upstreamFailed("The model's answer is too long");
    if (delta !== '') onText(delta);
  };
  const collect = async (parts: AsyncIterable<ChatPart>): Promise<ModelAnswer> => {
    for await (const part of parts) {
      if (part.type === 'delta') {
        // No database holds a NUL.
        const delta = part.text.replaceAll('\0', '');
        add(citing === undefined ? delta : citing.push(delta));
        continue;
      }
      const cited = await citing?.end(text);
      if (cited !== undefined) add(cited.rest);
      const { model, finishReason, usage } = part;
      const { promptTokens, completionTokens } = usage;
      return toSaid(text, {
        citations: cited?.citations,
        model,
        finishReason,
        promptTokens,
        completionTokens,
      });
    }
    throw upstreamFailed('The model broke off its answer');
  };
  try {
    return await abortable(collect(streamChat({ ...call, signal: leaving })), leaving);
  } catch (error) {
    if (!stop.aborted || signal.aborted) throw error instanceof ServiceError ? toModelFailure(error) : error;
    if (text.trim() === '') throw stop.reason;
    return toSaid(text, {
      citations: await citing?.cite(text.toWellFormed()),
      model: call.model ?? null,
      finishReason: 'stopped',
      promptTokens: tokensOf(call.messages.map(({ content }) => content).join('')),
      completionTokens: tokensOf(text),
    });
  } finally {
    clearTimeout(timer);
  }
}

const toSaid = (
  text: string,
  {
    citations = [],
    ...rest
  }: Omit<ModelAnswer, 'message' | 'citations'> & { citations: Citation[] | undefined },
): ModelAnswer => ({ message: text.toWellFormed(), citations, ...rest });

/** Of a text that no model has counted. */
const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);

const KEPT = new Set(['too-many-requests', 'upstream-failed', 'upstream-timeout', 'unavailable']);

/** All other refusals of a model's call are caused by the agent's configuration, not by the caller. */
const toModelFailure = (error: ServiceError): ServiceError =>
  KEPT.has(error.kind) ? error : upstreamFailed('The model of the agent cannot be asked', { cause: error });
