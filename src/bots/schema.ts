// Registrations of bots, as their administrators write and read them.

import { Kind, type Static, Type } from '@sinclair/typebox';
import { pageOf } from '../http/paging.ts';
import {
  component,
  described,
  integer,
  moment,
  nullable,
  oneOf,
  optional,
  text,
  WorkspacePath,
} from '../http/schemas.ts';
import { AUDIENCE_LENGTH_MAX, COMMANDS_MAX, NAME_LENGTH_MAX, REPLY_LENGTH_MAX } from './limits.ts';

const BOT_ID_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$';
const BOT_ID = new RegExp(BOT_ID_PATTERN);

export const isBotId = (text: string): boolean => BOT_ID.test(text);

export const BotPath = Type.Object({
  ...WorkspacePath.properties,
  bot_id: Type.String({
    pattern: BOT_ID_PATTERN,
    description: 'Stands in the URL of the webhook, and is the channel id of the conversations.',
  }),
});

const MODES = ['project_number', 'endpoint_url', 'key'] as const;
const Mode = oneOf(MODES, {
  description:
    '`project_number`: tokens of the app itself. `endpoint_url`: identity tokens for the URL of the webhook. ' +
    '`key`: API keys alone.',
});

const AUDIENCE = 'The number of the project, or the exact URL of the webhook.';
const Audience = Type.String({ minLength: 1, maxLength: AUDIENCE_LENGTH_MAX, description: AUDIENCE });

const ServiceAccount = Type.String({
  format: 'email',
  description:
    'In the mode `endpoint_url`, of a chat app that is a Google Workspace add-on: the service account that the ' +
    "console shows for it. Tokens of this account alone are accepted, instead of the chat platform's.",
});

/** A URL or a key set; registration.ts validates it. */
const KeySetSource = Type.Unsafe<unknown>({
  [Kind]: 'Unknown',
  anyOf: [
    text('https to a public address; from an operator to any, and http to this machine.'),
    Type.Object({ keys: Type.Array(Type.Record(Type.String(), Type.Unknown())) }),
    Type.Null(),
  ],
  description: "Where the keys that sign tokens are, or the keys; the platform's where it is absent.",
});

const AgentId = Type.String({ minLength: 1, maxLength: NAME_LENGTH_MAX });
export const Said = Type.String({ minLength: 1, maxLength: REPLY_LENGTH_MAX });
const CommandId = Type.Integer({ minimum: 1, maximum: 2_147_483_647 });
const CommandName = Type.String({ minLength: 1, maxLength: NAME_LENGTH_MAX });

export const BotPut = component('BotPut', 'A bot as it is to be.', {
  verification: component('BotVerificationPut', 'How events prove where they come from.', {
    mode: Mode,
    audience: optional(Audience),
    jwks: Type.Optional(KeySetSource),
    service_account_email: optional(ServiceAccount),
  }),
  agent_id: optional(AgentId, 'The agent that answers; absent: the default of the workspace.'),
  welcome_text: optional(Said, 'What the bot says where it is added.'),
  commands: optional(
    Type.Array(
      component('BotCommandPut', 'A command of a bot.', {
        id: described(CommandId, 'The number that the command has with the chat app.'),
        name: described(CommandName, 'Its name.'),
        reply: optional(Said, 'What the bot says to it.'),
        agent_id: optional(AgentId, 'The agent that answers it.'),
      }),
      { maxItems: COMMANDS_MAX },
    ),
    'Commands that have a reply or an agent of their own.',
  ),
});
export type BotPut = Static<typeof BotPut>;

export const BotRead = component('BotRead', 'A registered bot.', {
  id: text('The identifier of the bot.'),
  verification: component('BotVerification', 'How events prove where they come from.', {
    mode: Mode,
    audience: nullable(Type.String(), AUDIENCE),
    jwks: KeySetSource,
    service_account_email: Type.Optional(ServiceAccount),
  }),
  agent_id: nullable(Type.String(), 'The agent that answers; null: the default of the workspace.'),
  welcome_text: nullable(Type.String(), 'What the bot says where it is added.'),
  commands: Type.Array(
    component('BotCommand', 'A command of a bot.', {
      id: integer('The number that the command has with the chat app.'),
      name: text('Its name.'),
      reply: nullable(Type.String(), 'What the bot says to it.'),
      agent_id: nullable(Type.String(), 'The agent that answers it.'),
    }),
    { description: 'Commands that have a reply or an agent of their own.' },
  ),
  created_at: moment('When it was registered.'),
  updated_at: moment('When it was last changed.'),
});
export type BotRead = Static<typeof BotRead>;
export const BotPage = pageOf(BotRead, 'BotPage');

export const BOT_PUT_EXAMPLE = {
  verification: { mode: 'project_number', audience: '123456789012' },
  agent_id: 'support',
  welcome_text: 'Hello. Ask me about our documents.',
  commands: [{ id: 1, name: '/help', reply: 'Ask me anything about our documents.' }],
};

export const BOT_EXAMPLE: BotRead = {
  id: 'support-bot',
  verification: { mode: 'project_number', audience: '123456789012', jwks: null },
  agent_id: 'support',
  welcome_text: BOT_PUT_EXAMPLE.welcome_text,
  commands: [{ id: 1, name: '/help', reply: 'Ask me anything about our documents.', agent_id: null }],
  created_at: '2026-01-31T10:00:00.000Z',
  updated_at: '2026-01-31T10:00:00.000Z',
};
