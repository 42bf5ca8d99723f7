// The shapes of conversations.

import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { pageOf } from '../http/paging.ts';
import { SESSION_KEYS_EXAMPLE } from './examples.ts';
import { FEEDBACK_LENGTH_MAX, ID_LENGTH_MAX, TITLE_LENGTH_MAX } from './limits.ts';

const nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);
const Moment = Type.String({ format: 'date-time' });
const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
/** What the channel calls something; `example` as in the examples of the bodies, so that they fit together. */
const opaque = (description: string, example?: string) =>
  Type.String({
    minLength: 1,
    maxLength: ID_LENGTH_MAX,
    description,
    ...(example === undefined ? {} : { examples: [example] }),
  });

export const InWorkspace = Type.Object({ workspace_id: Type.String() });
export const ChannelPath = Type.Object({
  ...InWorkspace.properties,
  channel: opaque('The communication channel.', SESSION_KEYS_EXAMPLE.channel),
  channel_plugin: opaque('The plugin to use.', SESSION_KEYS_EXAMPLE.channel_plugin),
  channel_id: opaque(
    "The identifier of the configuration in the channel's own system.",
    SESSION_KEYS_EXAMPLE.channel_id,
  ),
});
export const ChannelSessionPath = Type.Object({
  ...ChannelPath.properties,
  channel_session_id: opaque(
    'The identifier that the channel has given the session.',
    SESSION_KEYS_EXAMPLE.channel_session_id,
  ),
});
export const SessionPath = Type.Object({ ...InWorkspace.properties, chat_session_id: Id });
export const MessagePath = Type.Object({ ...InWorkspace.properties, message_id: Id });

export const CreateChatSessionRequest = Type.Object(
  {
    persona_id: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 })),
    agi_id: opaque('The agent that answers, by its id; another one: the default of the workspace'),
    channel_session_id: opaque('Chat identifier assigned by the channel'),
  },
  { $id: 'CreateChatSessionRequest' },
);

const sessionKeys = {
  chat_session_id: Type.Integer(),
  channel_session_id: Type.String(),
  persona_id: Type.Integer(),
  agi_id: Type.String(),
  channel: Type.String(),
  channel_plugin: Type.String(),
  channel_id: Type.String(),
};

export const ChatSessionCreated = Type.Object(
  {
    ...sessionKeys,
    workspace_id: Type.String(),
    created: Type.Boolean({ description: 'False: it was there' }),
    created_at: Moment,
  },
  { $id: 'ChatSessionCreated' },
);
export type ChatSessionCreated = Static<typeof ChatSessionCreated>;

export const ChatSession = Type.Object(
  {
    ...sessionKeys,
    title: nullable(Type.String()),
    user: Type.String({ description: "The person's e-mail, else that of the key's owner" }),
    message_count: Type.Integer({ minimum: 0 }),
    created_at: Moment,
    updated_at: Moment,
  },
  { $id: 'ChatSession' },
);
export type ChatSession = Static<typeof ChatSession>;
export const ChatSessionPage = pageOf(ChatSession, 'ChatSessionPage');

export const SendMessageRequest = Type.Object(
  {
    message: Type.String({ minLength: 1, description: 'Text sent to the AI' }),
    channel_user_message_id: opaque('The same again gives the same answer'),
    channel_assistant_message_id: opaque('Assistant message identifier assigned by the channel'),
  },
  { $id: 'SendMessageRequestSchema' },
);

const Citation = Type.Object(
  { document_id: Type.String(), name: Type.String(), score: Type.Number({ minimum: 0, maximum: 1 }) },
  { $id: 'Citation' },
);

export const ChatAnswer = Type.Object(
  {
    chat_session_id: Type.Integer(),
    channel_session_id: Type.String(),
    message_id: Type.Integer({ description: 'Of the answer' }),
    user_message_id: Type.Integer(),
    channel_user_message_id: nullable(Type.String()),
    channel_assistant_message_id: nullable(Type.String()),
    answer: Type.String(),
    citations: Type.Array(Citation),
    model: nullable(Type.String({ description: 'Null where no model was asked' })),
    finish_reason: Type.String(),
    usage: Type.Object({
      prompt_tokens: Type.Integer({ minimum: 0 }),
      completion_tokens: Type.Integer({ minimum: 0 }),
      total_tokens: Type.Integer({ minimum: 0 }),
    }),
    error_msg: nullable(Type.String()),
    created_at: Moment,
  },
  { $id: 'ChatAnswer' },
);
export type ChatAnswer = Static<typeof ChatAnswer>;

export const TitlePatch = Type.Object(
  { title: Type.String({ minLength: 1, maxLength: TITLE_LENGTH_MAX }) },
  { $id: 'ChatSessionPatch' },
);

export const MessagePut = Type.Object(
  { message: Type.String({ minLength: 1, description: 'Replaces the question, and is answered anew' }) },
  { $id: 'ChatMessagePut' },
);

export const FeedbackCreate = Type.Object(
  {
    is_positive: Type.Boolean(),
    feedback_text: Type.Optional(nullable(Type.String({ maxLength: FEEDBACK_LENGTH_MAX }))),
  },
  { $id: 'FeedbackCreate' },
);
const feedbackFields = { is_positive: Type.Boolean(), feedback_text: Type.String() };
export const FeedbackRead = Type.Object(
  { message_id: Type.Integer(), ...feedbackFields },
  { $id: 'FeedbackRead' },
);

export const AgentMessageCreate = Type.Object(
  {
    message: Type.String({ minLength: 1 }),
    agent_id: Type.String({
      format: 'email',
      maxLength: 320,
      description: 'E-mail of the person who answers',
    }),
  },
  { $id: 'AgentMessageCreate' },
);

export const ChatMessage = Type.Object(
  {
    message_id: Type.Integer(),
    parent_message_id: nullable(Type.Integer()),
    role: Type.Union([Type.Literal('user'), Type.Literal('assistant'), Type.Literal('agent')]),
    message: Type.String(),
    channel_message_id: nullable(Type.String()),
    agent_id: nullable(
      Type.String({ description: 'The agent that answered, or the e-mail of the person who did' }),
    ),
    citations: Type.Array(Citation),
    feedback: nullable(Type.Object(feedbackFields)),
    error_msg: nullable(
      Type.String({ description: 'Why there is no answer; the same question again asks anew' }),
    ),
    created_at: Moment,
  },
  { $id: 'ChatMessage' },
);
export type ChatMessage = Static<typeof ChatMessage>;
export const ChatMessagePage = pageOf(ChatMessage, 'ChatMessagePage');
