// The shapes of area D: registrations of bots, and what the webhook answers.

import { Kind, type Static, type TSchema, Type } from '@sinclair/typebox';
import { pageOf } from '../http/paging.ts';
import { AUDIENCE_LENGTH_MAX, COMMANDS_MAX, NAME_LENGTH_MAX, REPLY_LENGTH_MAX } from './limits.ts';

const nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);
const Moment = Type.String({ format: 'date-time' });

const BOT_ID_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$';
const BOT_ID = new RegExp(BOT_ID_PATTERN);

export const isBotId = (text: string): boolean => BOT_ID.test(text);

export const WebhookPath = Type.Object({ workspace_id: Type.String(), bot_id: Type.String() });

export const InWorkspace = Type.Object({
  workspace_id: Type.String({ description: 'Workspace that is administered.' }),
});
export const BotPath = Type.Object({
  ...InWorkspace.properties,
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

/** A text or an object: checked where it is read (check-registration.ts). */
const KeySetSource = Type.Unsafe<unknown>({
  [Kind]: 'Unknown',
  anyOf: [
    Type.String({
      description: 'https to a public address; from an operator to any, and http to this machine',
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
        audience: Type.Optional(nullable(Audience)),
        jwks: Type.Optional(KeySetSource),
        service_account_email: Type.Optional(nullable(ServiceAccount)),
      },
      { $id: 'BotVerificationPut' },
    ),
    agent_id: Type.Optional(nullable(AgentId)),
    welcome_text: Type.Optional(nullable(Said)),
    commands: Type.Optional(
      nullable(
        Type.Array(
          Type.Object(
            {
              id: CommandId,
              name: CommandName,
              reply: Type.Optional(nullable(Said)),
              agent_id: Type.Optional(nullable(AgentId)),
            },
            { $id: 'BotCommandPut' },
          ),
          { maxItems: COMMANDS_MAX },
        ),
      ),
    ),
  },
  { $id: 'BotPut' },
);
export type BotPut = Static<typeof BotPut>;

const text = nullable(Type.String());
export const BotRead = Type.Object(
  {
    id: Type.String(),
    verification: Type.Object(
      {
        ...{ mode: Mode, audience: text, jwks: KeySetSource },
        service_account_email: Type.Optional(ServiceAccount),
      },
      { $id: 'BotVerification' },
    ),
    agent_id: text,
    welcome_text: text,
    commands: Type.Array(
      Type.Object(
        { id: Type.Integer(), name: Type.String(), reply: text, agent_id: text },
        { $id: 'BotCommand' },
      ),
    ),
    created_at: Moment,
    updated_at: Moment,
  },
  { $id: 'BotRead' },
);
export type BotRead = Static<typeof BotRead>;
export const BotPage = pageOf(BotRead, 'BotPage');

export const ChatappReply = Type.Object(
  {
    text: Type.Optional(Type.String()),
    actionResponse: Type.Optional(Type.Object({ type: Type.String() })),
  },
  { $id: 'ChatappReply', description: 'A message of the chat app; `{}` says nothing, in either format.' },
);
