// The input and output of the administration of agents.

import { type Static, Type } from '@sinclair/typebox';
import { pageOf } from '../http/paging.ts';
import {
  component,
  described,
  flag,
  integer,
  moment,
  nullable,
  oneOf,
  optional,
  text,
  WorkspacePath,
} from '../http/schemas.ts';
import {
  AGENT_ID_LENGTH_MAX,
  AGENT_NAME_LENGTH_MAX,
  HISTORY_MESSAGES_DEFAULT,
  HISTORY_MESSAGES_MAX,
  HISTORY_TOKENS_DEFAULT,
  HISTORY_TOKENS_MAX,
  INSTRUCTIONS_LENGTH_MAX,
  MODEL_LENGTH_MAX,
  NOT_FOUND_TEXT_DEFAULT,
  NOT_FOUND_TEXT_LENGTH_MAX,
  REPLIES_MAX,
  REPLY_LENGTH_MAX,
  REPLY_MATCH_LENGTH_MAX,
} from './limits.ts';

export const AgentPath = Type.Object({
  ...WorkspacePath.properties,
  agent_id: Type.String({
    minLength: 1,
    maxLength: AGENT_ID_LENGTH_MAX,
    description: 'What `agi_id`, or `persona_id` as text, selects the agent by.',
  }),
});

const Kind = oneOf(['persona', 'agent', 'bot'], {
  description: 'Its answers are events `messages.rag.<kind>.new`; a bot answers from its replies.',
});
const Knowledge = oneOf(['none', 'documents']);
const Model = Type.String({ minLength: 1, maxLength: MODEL_LENGTH_MAX });
const Temperature = Type.Number({ minimum: 0, maximum: 2 });
const Reply = component('AgentReply', 'What a bot says to a text.', {
  match: Type.String({
    minLength: 1,
    maxLength: REPLY_MATCH_LENGTH_MAX,
    description: 'Part of the text, in any case; `*` matches all. The first that matches counts.',
  }),
  reply: Type.String({ minLength: 1, maxLength: REPLY_LENGTH_MAX, description: 'What the bot says then.' }),
});

export const AgentWrite = component('AgentWrite', 'An agent as it is to be.', {
  name: Type.String({
    minLength: 1,
    maxLength: AGENT_NAME_LENGTH_MAX,
    description: 'The name of the agent.',
  }),
  kind: Kind,
  model: optional(Model, "Of the catalogue; absent: the catalogue's default."),
  instructions: optional(
    Type.String({ maxLength: INSTRUCTIONS_LENGTH_MAX }),
    'What the model is told before the conversation.',
  ),
  temperature: optional(Temperature, 'How freely the model answers; absent: as it does by itself.'),
  history_messages: optional(
    Type.Integer({ minimum: 0, maximum: HISTORY_MESSAGES_MAX }),
    `Messages before the question that the model is shown; default ${HISTORY_MESSAGES_DEFAULT}.`,
  ),
  history_tokens: optional(
    Type.Integer({ minimum: 0, maximum: HISTORY_TOKENS_MAX }),
    `Tokens that they may have together, about; default ${HISTORY_TOKENS_DEFAULT}.`,
  ),
  knowledge: Type.Optional(
    Type.Union([...Knowledge['anyOf'], Type.Null()], {
      description:
        '`documents`: it may cite what the owner of the asking key may see, which needs `documents:read`, too; default `none`.',
    }),
  ),
  knowledge_only: optional(
    Type.Boolean(),
    'Whether it answers from documents alone, and says so where it finds no answer there; default false.',
  ),
  not_found_text: optional(
    Type.String({ minLength: 1, maxLength: NOT_FOUND_TEXT_LENGTH_MAX }),
    `With \`knowledge_only\`: the answer where no document is found, without a model, and the end of one without support; default “${NOT_FOUND_TEXT_DEFAULT}”`,
  ),
  replies: optional(Type.Array(Reply, { maxItems: REPLIES_MAX }), 'Of a bot.'),
  default: optional(Type.Boolean(), "Whether it is the workspace's default; then no other is any more."),
});
export type AgentWrite = Static<typeof AgentWrite>;

export const AgentRead = component('AgentRead', 'An agent that answers in chat sessions.', {
  id: text('What selects the agent.'),
  name: text('The name of the agent.'),
  kind: Kind,
  model: nullable(Type.String(), "The model that answers; null: the catalogue's default."),
  instructions: text('What the model is told before the conversation.'),
  temperature: nullable(Type.Number(), 'How freely the model answers; null: as it does by itself.'),
  history_messages: integer('How many messages before the question the model is shown.'),
  history_tokens: integer('How many tokens they may have together, about.'),
  knowledge: described(Knowledge, 'What the answers may rest on.'),
  knowledge_only: flag('Whether it answers from documents alone.'),
  not_found_text: nullable(Type.String(), 'Its answer where no document is found then; null: the default.'),
  replies: described(Type.Array(Reply), 'What it says, if it is a bot.'),
  default: flag("Whether it is the workspace's default."),
  created_at: moment('When it was made.'),
  updated_at: moment('When it was last changed.'),
});
export type AgentRead = Static<typeof AgentRead>;
export const AgentPage = pageOf(AgentRead, 'AgentPage');
