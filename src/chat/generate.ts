// From a question to its answer: by a bot's list, or by a model.

import type { CachedLookup } from '../core/cached-lookup.ts';
import { type ServiceError, unavailable } from '../core/errors.ts';
import { withSpan } from '../core/tracing.ts';
import type { ChatMessage, StreamChat } from '../gateway/chat-call.ts';
import { askModel } from './ask-model.ts';
import { createCitingAnswer } from './citing/answer.ts';
import { showPassages } from './citing/shown-passages.ts';
import type { Found, Knowledge } from './knowledge/index.ts';
import type { Passage } from './knowledge/passage.ts';
import {
  CONTEXT_QUESTIONS_MAX,
  HISTORY_MESSAGES_DEFAULT,
  HISTORY_TOKENS_DEFAULT,
  NOT_FOUND_TEXT_DEFAULT,
  TURN_TIMEOUT_MS,
} from './limits.ts';
import type { Memory } from './memory.ts';
import { replyTo } from './replies.ts';
import type { Agent, AgentNames } from './store/agents.ts';
import type { Answer, Said, Turn } from './turn.ts';

export type GenerateDeps = {
  /** By `AgentNames` as JSON: the agent that one of the ids names, else the workspace's default. */
  agents: Pick<CachedLookup<Agent>, 'get'>;
  memory: Memory;
  knowledge: Knowledge;
  streamChat: StreamChat;
  /** Default: ten minutes. */
  timeoutMs?: number;
};

/** Where `stop` aborts, the text so far is the answer. */
export type Generate = (
  turn: Turn,
  options: { onText(text: string): void; signal: AbortSignal; stop?: AbortSignal },
) => Promise<Answer>;

const NEVER = new AbortController().signal;

/**
 * Makes an answer within its time limit. Throws a ServiceError if the model fails, or if the documents cannot be searched
 * for an agent that answers from them alone; the reason of `signal` when it aborts, or of `stop` before the first word; and errors
 * of the database.
 */
export function createGenerate({
  agents,
  memory,
  knowledge,
  streamChat,
  timeoutMs = TURN_TIMEOUT_MS,
}: GenerateDeps): Generate {
  const findPassages = async (
    agent: Agent,
    { turn, earlier, signal }: { turn: Turn; earlier: readonly Said[]; signal: AbortSignal },
  ): Promise<Found> => {
    const { workspaceId, caller, message: question } = turn;
    const { readsAs } = caller;
    if (agent.knowledge === 'none' || readsAs == null) return { passages: [], isWhole: true };
    const { email, keyId = '', limits = {} } = caller;
    const payer = { email, keyId, limits, isPart: true };
    return knowledge.find(
      { workspaceId, email: readsAs, question, earlier: questionsOf(earlier), payer },
      signal,
    );
  };

  const answer: Generate = async (turn, { onText, signal, stop = NEVER }) => {
    const leaving = AbortSignal.any([signal, stop]);
    const agent = (await agents.get(agentKeyOf(turn))) ?? FALLBACK_AGENT;
    if (agent.kind === 'bot')
      return fixedAnswer(agent, await replyTo(agent.replies, turn.message, leaving), onText);
    const window = { messagesMax: agent.historyMessages, tokensMax: agent.historyTokens };
    const earlier = await memory.before(turn, window);
    const { passages, isWhole } = await findPassages(agent, { turn, earlier, signal: leaving });
    const { instructions, knowledgeOnly } = agent;
    const notFoundText = agent.notFoundText ?? NOT_FOUND_TEXT_DEFAULT;
    if (knowledgeOnly && passages.length === 0) {
      if (!isWhole) throw searchRefusal();
      return fixedAnswer(agent, notFoundText, onText);
    }
    const messages = toPrompt({ instructions, passages, knowledgeOnly, earlier, question: turn.message });
    leaving.throwIfAborted();
    const unsupportedText = knowledgeOnly ? notFoundText : undefined;
    // An answer that was shown no passages has none to cite.
    const citing =
      passages.length === 0
        ? undefined
        : createCitingAnswer({ question: turn.message, passages, unsupportedText });
    const asked = {
      caller: accountOf(turn),
      ...(agent.model === null ? {} : { model: agent.model }),
      messages,
      ...(agent.temperature === null ? {} : { temperature: agent.temperature }),
    };
    const { text, citations, end } = await askModel(streamChat, asked, {
      citing,
      onText,
      signal,
      stop,
      timeoutMs,
    });
    memory.remember(turn, { window, earlier, answer: text });
    return {
      message: text,
      citations,
      agentId: agent.id,
      kind: agent.kind,
      model: end.model,
      finishReason: end.finishReason,
      promptTokens: end.usage.promptTokens,
      completionTokens: end.usage.completionTokens,
    };
  };
  return (turn, options) =>
    withSpan('invoke_agent', descriptionOf(turn), async (span) => {
      const made = await answer(turn, options);
      span?.set({ 'gen_ai.agent.id': made.agentId, 'atrium.agent.kind': made.kind });
      return made;
    });
}

const descriptionOf = (turn: Turn) => () => ({
  attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.conversation.id': String(turn.sessionId) },
});

const agentKeyOf = ({ workspaceId, agentId, agiId, personaId }: Turn): string => {
  const ids = [...(agentId === null ? [] : [agentId]), agiId, `${personaId}`];
  return JSON.stringify({ workspaceId, ids } satisfies AgentNames);
};

/** The agent of a workspace that has no default one. */
const FALLBACK_AGENT: Agent = {
  id: undefined,
  kind: 'persona',
  model: null,
  instructions: '',
  temperature: null,
  historyMessages: HISTORY_MESSAGES_DEFAULT,
  historyTokens: HISTORY_TOKENS_DEFAULT,
  knowledge: 'none',
  knowledgeOnly: false,
  notFoundText: null,
  replies: [],
};

/** What the person asked last in the conversation. */
const questionsOf = (earlier: readonly Said[]): string[] =>
  earlier
    .filter(({ role }) => role === 'user')
    .slice(-CONTEXT_QUESTIONS_MAX)
    .map(({ message }) => message);

const accountOf = ({ workspaceId, caller: { email, keyId, limits } }: Turn) => ({
  workspaceId,
  email,
  ...(keyId === undefined ? {} : { keyId }),
  ...(limits === undefined ? {} : { limits }),
});

/** An answer that no model has made. */
const fixedAnswer = (agent: Agent, text: string, onText: (text: string) => void): Answer => {
  onText(text);
  return {
    message: text,
    citations: [],
    agentId: agent.id,
    kind: agent.kind,
    model: null,
    finishReason: 'stop',
    promptTokens: 0,
    completionTokens: 0,
  };
};

/** Saying that nothing is there would be wrong. */
const searchRefusal = (): ServiceError => unavailable('The documents cannot be searched');

/** The messages of a model's call: instructions, the conversation so far, passages that may be cited, the question. */
export function toPrompt(parts: {
  instructions: string;
  passages: readonly Passage[];
  knowledgeOnly: boolean;
  earlier: readonly Said[];
  question: string;
}): ChatMessage[] {
  const { instructions, passages, knowledgeOnly, earlier, question } = parts;
  const shown = passages.length === 0 ? undefined : showPassages(passages, { knowledgeOnly });
  const system = [instructions, ...(shown?.notices ?? [])].filter((text) => text !== '').join('\n\n');
  return [
    ...(system === '' ? [] : [toChatMessage('system', system)]),
    ...earlier.map(({ role, message }) => toChatMessage(role === 'user' ? 'user' : 'assistant', message)),
    ...(shown === undefined ? [] : [toChatMessage('user', shown.block)]),
    toChatMessage('user', question),
  ];
}

const toChatMessage = (role: ChatMessage['role'], content: string): ChatMessage => ({ role, content });
