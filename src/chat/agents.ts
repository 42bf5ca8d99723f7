// Who answers in a workspace's conversations.

import type { CachedLookup } from '../core/cached-lookup.ts';
import { HISTORY_MESSAGES_DEFAULT, HISTORY_TOKENS_DEFAULT } from './limits.ts';
import type { Turn } from './turn.ts';

/** A model with instructions (a persona, or an autonomous agent), or a bot that answers from a list. */
export type Agent = {
  /** Undefined: no agent is configured. */
  id: string | undefined;
  kind: 'persona' | 'agent' | 'bot';
  /** Null: the catalogue's default. */
  model: string | null;
  instructions: string;
  temperature: number | null;
  historyMessages: number;
  historyTokens: number;
  knowledge: 'none' | 'documents';
  /** Whether it answers from documents alone. */
  knowledgeOnly: boolean;
  /** Its answer where no document is found then; null: the default sentence. */
  notFoundText: string | null;
  replies: readonly { match: string; reply: string }[];
};

/** Answers where a workspace has no default agent. */
const NOBODY: Agent = {
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

/** The ids of an agent in the order in which they are tried. */
export type AgentNames = { workspaceId: string; ids: readonly string[] };

export type FindAgent = (
  asked: Pick<Turn, 'workspaceId' | 'agentId' | 'agiId' | 'personaId'>,
) => Promise<Agent>;

/** The agent that one of the ids names, else the workspace's default, from a cache with `AgentNames` as JSON for its keys. */
export const createFindAgent =
  (agents: Pick<CachedLookup<Agent>, 'get'>): FindAgent =>
  async ({ workspaceId, agentId, agiId, personaId }) => {
    const ids = [...(agentId === null ? [] : [agentId]), agiId, `${personaId}`];
    return (await agents.get(JSON.stringify({ workspaceId, ids } satisfies AgentNames))) ?? NOBODY;
  };

/** A bot's answer: the first reply whose match is part of the text, in any case; `*` matches all; else nothing. */
export function replyTo(agent: Agent, text: string): string {
  const lower = text.toLowerCase();
  const fits = (match: string): boolean => match === '*' || lower.includes(match.toLowerCase());
  return agent.replies.find(({ match }) => fits(match))?.reply ?? '';
}
