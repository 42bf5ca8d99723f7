// The shapes of area D: registrations of bots, and what the webhook answers.

import { Kind, type Static, Type } from '@sinclair/typebox';
import { pageOf } from '../http/paging.ts';
import { described, Moment, nullable, optional, WorkspacePath } from '../http/schemas.ts';
import { AUDIENCE_LENGTH_MAX, COMMANDS_MAX, NAME_LENGTH_MAX, REPLY_LENGTH_MAX } from './limits.ts';

const BOT_ID_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$';
const BOT_ID = new RegExp(BOT_ID_PATTERN);

export const isBotId = (text: string): boolean => BOT_ID.test(text);

export const WebhookPath = Type.Object({
  workspace_id: Type.String({ description: 'The workspace of the bot.' }),
  bot_id: Type.String({ description: 'The identifier under which the bot is registered.' }),
});

export const BotPath = Type.Object({
  ...WorkspacePath.properties,
  bot_id: Type.String({
    pattern: BOT_ID_PATTERN,
    description: 'Stands in the URL of the webhook, and is the channel id of the conversations.',
  }),
});

const MODES = ['project_number', 'endpoint_url', 'key'] as const;
const Mode = Type.Union(
  MODES.map((mode) => Type.Literal(mode)),
  {
    description:
      '`project_number`: tokens of the app itself. `endpoint_url`: identity tokens for the URL of the webhook. ' +
      '`key`: API keys alone.',
  },
);

const AUDIENCE = 'The number of the project, or the exact URL of the webhook.';
const Audience = Type.String({ minLength: 1, maxLength: AUDIENCE_LENGTH_MAX, description: AUDIENCE });

const ServiceAccount = Type.String({
  format: 'email',
  description:
    'In the mode `endpoint_url`, of a chat app that is a Google Workspace add-on: the service account that the ' +
    "console shows for it. Tokens of this account alone are accepted, instead of the chat platform's.",
});

/** A URL or a key set; check-registration.ts validates it. */
const KeySetSource = Type.Unsafe<unknown>({
  [Kind]: 'Unknown',
  anyOf: [
    Type.String({
      description: 'https to a public address; from an operator to any, and http to this machine.',
    }),
    Type.Object({ keys: Type.Array(Type.Record(Type.String(), Type.Unknown())) }),
    Type.Null(),
  ],
  description: "Where the keys that sign tokens are, or the keys; the platform's where it is absent.",
});

const AgentId = Type.String({ minLength: 1, maxLength: NAME_LENGTH_MAX });
const Said = Type.String({ minLength: 1, maxLength: REPLY_LENGTH_MAX });
const CommandId = Type.Integer({ minimum: 1, maximum: 2_147_483_647 });
const CommandName = Type.String({ minLength: 1, maxLength: NAME_LENGTH_MAX });

export const BotPut = Type.Object(
  {
    verification: Type.Object(
      {
        mode: Mode,
        audience: optional(Audience),
        jwks: Type.Optional(KeySetSource),
        service_account_email: optional(ServiceAccount),
      },
      { $id: 'BotVerificationPut', description: 'How events prove where they come from.' },
    ),
    agent_id: optional(AgentId, 'The agent that answers; absent: the default of the workspace.'),
    welcome_text: optional(Said, 'What the bot says where it is added.'),
    commands: optional(
      Type.Array(
        Type.Object(
          {
            id: described(CommandId, 'The number that the command has with the chat app.'),
            name: described(CommandName, 'Its name.'),
            reply: optional(Said, 'What the bot says to it.'),
            agent_id: optional(AgentId, 'The agent that answers it.'),
          },
          { $id: 'BotCommandPut', description: 'A command of a bot.' },
        ),
        { maxItems: COMMANDS_MAX },
      ),
      'Commands that have a reply or an agent of their own.',
    ),
  },
  { $id: 'BotPut', description: 'A bot as it is to be.' },
);
export type BotPut = Static<typeof BotPut>;

const text = nullable(Type.String());
export const BotRead = Type.Object(
  {
    id: Type.String({ description: 'The identifier of the bot.' }),
    verification: Type.Object(
      {
        mode: Mode,
        audience: described(text, AUDIENCE),
        jwks: KeySetSource,
        service_account_email: Type.Optional(ServiceAccount),
      },
      { $id: 'BotVerification', description: 'How events prove where they come from.' },
    ),
    agent_id: described(text, 'The agent that answers; null: the default of the workspace.'),
    welcome_text: described(text, 'What the bot says where it is added.'),
    commands: Type.Array(
      Type.Object(
        {
          id: Type.Integer({ description: 'The number that the command has with the chat app.' }),
          name: Type.String({ description: 'Its name.' }),
          reply: described(text, 'What the bot says to it.'),
          agent_id: described(text, 'The agent that answers it.'),
        },
        { $id: 'BotCommand', description: 'A command of a bot.' },
      ),
      { description: 'Commands that have a reply or an agent of their own.' },
    ),
    created_at: described(Moment, 'When it was registered.'),
    updated_at: described(Moment, 'When it was last changed.'),
  },
  { $id: 'BotRead', description: 'A registered bot.' },
);
export type BotRead = Static<typeof BotRead>;
export const BotPage = pageOf(BotRead, 'BotPage');

export const ChatappReply = Type.Object(
  {
    text: Type.Optional(Type.String({ description: 'What is said.' })),
    actionResponse: Type.Optional(
      described(Type.Object({ type: Type.String() }), 'How the chat app is to treat the message.'),
    ),
  },
  { $id: 'ChatappReply', description: 'A message of the chat app; `{}` says nothing, in either format.' },
);
