// Who answers in a workspace's conversations.

import type { CachedLookup } from '../core/cached-lookup.ts';
import { parseJson } from '../core/json.ts';
import { HISTORY_MESSAGES_DEFAULT, HISTORY_TOKENS_DEFAULT } from './limits.ts';

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
  replies: [],
};

/** The identifiers of an agent, in the order in which they are tried. */
export type AgentNames = {
  workspaceId: string;
  agentId: string | null;
  agiId: string;
  personaId: number;
};

export type FindAgent = (names: AgentNames) => Promise<Agent>;

/** The agent that one of the names is the id of, else the workspace's default. */
export const createFindAgent =
  (agents: Pick<CachedLookup<Agent>, 'get'>): FindAgent =>
  async ({ workspaceId, agentId, agiId, personaId }) => {
    const ids = [...(agentId === null ? [] : [agentId]), agiId, `${personaId}`];
    return (await agents.get(JSON.stringify([workspaceId, ...ids]))) ?? NOBODY;
  };

/** The workspace and the ids that a key of the lookup stands for. */
export function parseAgentKey(key: string): { workspaceId: string; ids: string[] } {
  const [workspaceId = '', ...ids] = parseJson(key) as string[];
  return { workspaceId, ids };
}

/** A bot's answer: the first reply whose match is part of the text, in any case; `*` matches all; else nothing. */
export function replyTo(agent: Agent, text: string): string {
  const lower = text.toLowerCase();
  const fits = (match: string): boolean => match === '*' || lower.includes(match.toLowerCase());
  return agent.replies.find(({ match }) => fits(match))?.reply ?? '';
}
