// An agent as the fields of its form, and back.

import type { Schemas } from './api.ts';

type Agent = Schemas['AgentRead'];
type Kind = Agent['kind'];

/** The form as texts; replies stand one a line, `match => reply`. */
export type Draft = {
  id: string;
  name: string;
  kind: Kind;
  model: string;
  instructions: string;
  temperature: string;
  knowledge: Agent['knowledge'];
  knowledgeOnly: boolean;
  notFoundText: string;
  replies: string;
  isDefault: boolean;
};

const ARROW = ' => ';

export const toDraft = (agent: Agent | undefined): Draft => ({
  id: agent?.id ?? '',
  name: agent?.name ?? '',
  kind: agent?.kind ?? 'persona',
  model: agent?.model ?? '',
  instructions: agent?.instructions ?? '',
  temperature: agent?.temperature == null ? '' : String(agent.temperature),
  knowledge: agent?.knowledge ?? 'none',
  knowledgeOnly: agent?.knowledge_only ?? false,
  notFoundText: agent?.not_found_text ?? '',
  replies: (agent?.replies ?? []).map(({ match, reply }) => `${match}${ARROW}${reply}`).join('\n'),
  isDefault: agent?.default ?? false,
});

/** A line without an arrow answers everything. */
const toReplies = (text: string): Schemas['AgentReply'][] =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const at = line.indexOf(ARROW);
      return at === -1
        ? { match: '*', reply: line.trim() }
        : { match: line.slice(0, at).trim(), reply: line.slice(at + ARROW.length).trim() };
    });

/** What the form does not show stays as it is. */
export const toBody = (draft: Draft, agent: Agent | undefined): Schemas['AgentWrite'] => ({
  name: draft.name,
  kind: draft.kind,
  model: draft.model === '' ? null : draft.model,
  instructions: draft.instructions,
  temperature: draft.temperature === '' ? null : Number(draft.temperature),
  knowledge: draft.knowledge,
  knowledge_only: draft.knowledgeOnly && draft.knowledge === 'documents',
  not_found_text: draft.notFoundText === '' ? null : draft.notFoundText,
  replies: toReplies(draft.replies),
  default: draft.isDefault,
  ...(agent === undefined
    ? {}
    : { history_messages: agent.history_messages, history_tokens: agent.history_tokens }),
});
