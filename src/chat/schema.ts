// The shapes of conversations.

import { type Static, Type } from '@sinclair/typebox';
import { PageQuery, pageOf } from '../http/paging.ts';
import { component, described, flag, integer, moment, nullable, oneOf, optional } from '../http/schemas.ts';
import { SESSION_KEYS_EXAMPLE } from './examples.ts';
import { FEEDBACK_LENGTH_MAX, ID_LENGTH_MAX, TITLE_LENGTH_MAX } from './limits.ts';

const Text = Type.String();
const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
/** An identifier of the channel; `example` as in the examples of the bodies, so that they fit together. */
const opaque = (description: string, example?: string) =>
  Type.String({
    minLength: 1,
    maxLength: ID_LENGTH_MAX,
    description,
    ...(example === undefined ? {} : { examples: [example] }),
  });

export const InWorkspace = Type.Object({ workspace_id: described(Text, 'The workspace of the key.') });
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
export const SessionPath = Type.Object({
  ...InWorkspace.properties,
  chat_session_id: described(Id, 'The identifier of the session.'),
});
export const SessionQuery = Type.Object({
  ...PageQuery.properties,
  channel: Type.Optional(
    Type.String({ maxLength: ID_LENGTH_MAX, description: 'Sessions of this channel alone; blank: of all.' }),
  ),
});
export const MessagePath = Type.Object({
  ...InWorkspace.properties,
  message_id: described(Id, 'The identifier of the message.'),
});

export const CreateChatSessionRequest = component(
  'CreateChatSessionRequest',
  'The chat session that a channel begins, or goes on with.',
  {
    persona_id: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        default: 0,
        description: 'The persona that the channel asks for; as text it selects the agent of this id.',
      }),
    ),
    agi_id: opaque('The agent that answers, by its id; another one: the default of the workspace.'),
    channel_session_id: opaque('Chat identifier assigned by the channel.'),
  },
);

const sessionKeys = {
  chat_session_id: integer('The identifier of the session.'),
  channel_session_id: described(Text, 'The identifier that the channel has given the session.'),
  persona_id: integer('The persona that was asked for.'),
  agi_id: described(Text, 'The agent that was asked for.'),
  channel: described(Text, 'The communication channel.'),
  channel_plugin: described(Text, 'The plugin of the channel.'),
  channel_id: described(Text, "The identifier of the configuration in the channel's own system."),
};

export const ChatSessionCreated = component('ChatSessionCreated', 'A chat session, and whether it is new.', {
  ...sessionKeys,
  workspace_id: described(Text, 'The workspace of the session.'),
  created: flag('False: it was there.'),
  created_at: moment('When it was made.'),
});
export type ChatSessionCreated = Static<typeof ChatSessionCreated>;

export const ChatSession = component('ChatSession', 'A chat session.', {
  ...sessionKeys,
  title: nullable(Text, 'The title that somebody gave it.'),
  user: described(Text, "The person's e-mail, else that of the key's owner."),
  message_count: Type.Integer({ minimum: 0, description: 'How many messages it has.' }),
  created_at: moment('When it was made.'),
  updated_at: moment('When something was last said or changed in it.'),
});
export type ChatSession = Static<typeof ChatSession>;
export const ChatSessionPage = pageOf(ChatSession, 'ChatSessionPage');

export const SendMessageRequest = component('SendMessageRequestSchema', 'A message of a person.', {
  message: Type.String({ minLength: 1, description: 'Text sent to the AI.' }),
  channel_user_message_id: opaque('The same again gives the same answer.'),
  channel_assistant_message_id: opaque('Assistant message identifier assigned by the channel.'),
});

const Citation = component('Citation', 'A part of a document that an answer rests on.', {
  number: nullable(
    Type.Integer({ minimum: 1 }),
    'By which the answer names it: the text has `[1]` where it rests on it. Null where the text has no numbers.',
  ),
  document_id: described(Text, 'The document that the answer rests on.'),
  name: described(Text, 'Its name.'),
  page: nullable(
    Type.Integer({ minimum: 1 }),
    'The page, slide or sheet; null where there are none, and where the answer rests on the record of the document.',
  ),
  heading: nullable(Text, 'The headings above it.'),
  quote: nullable(Text, 'The part of the text that the answer leans on.'),
  score: Type.Number({ minimum: 0, maximum: 1, description: 'How well it fits the question.' }),
});

export const ChatAnswer = component('ChatAnswer', 'The answer to a message.', {
  chat_session_id: integer('The identifier of the session.'),
  channel_session_id: described(Text, 'The identifier that the channel has given the session.'),
  message_id: integer('Of the answer.'),
  user_message_id: integer('The message that is answered.'),
  channel_user_message_id: nullable(Text, 'The identifier that the channel has given that message.'),
  channel_assistant_message_id: nullable(Text, 'The identifier that the channel has given the answer.'),
  answer: described(Text, 'The text of the answer.'),
  citations: described(Type.Array(Citation), 'What it rests on, by number.'),
  model: nullable(described(Text, 'Null where no model was asked.')),
  finish_reason: described(Text, 'Why the answer ends.'),
  usage: described(
    Type.Object({
      prompt_tokens: Type.Integer({ minimum: 0 }),
      completion_tokens: Type.Integer({ minimum: 0 }),
      total_tokens: Type.Integer({ minimum: 0 }),
    }),
    'The tokens that it has used.',
  ),
  error_msg: nullable(Text, 'Why there is no answer; null where there is one.'),
  created_at: moment('When the answer was made.'),
});
export type ChatAnswer = Static<typeof ChatAnswer>;

export const TitlePatch = component('ChatSessionPatch', 'A new title of a chat session.', {
  title: Type.String({ minLength: 1, maxLength: TITLE_LENGTH_MAX, description: 'The new title.' }),
});

export const MessagePut = component('ChatMessagePut', 'A message that replaces another.', {
  message: Type.String({ minLength: 1, description: 'Replaces the question, and is answered anew.' }),
});

export const FeedbackCreate = component('FeedbackCreate', 'What a person thinks of an answer.', {
  is_positive: flag('Whether the answer was good.'),
  feedback_text: optional(Type.String({ maxLength: FEEDBACK_LENGTH_MAX }), 'What there is to say about it.'),
});
const feedbackFields = {
  is_positive: flag('Whether the answer was good.'),
  feedback_text: described(Text, 'What was said about it.'),
};
export const FeedbackRead = component('FeedbackRead', 'What was said of an answer.', {
  message_id: integer('The answer.'),
  ...feedbackFields,
});

export const AgentMessageCreate = component('AgentMessageCreate', 'A message of a person of the company.', {
  message: Type.String({ minLength: 1, description: 'The text of the message.' }),
  agent_id: Type.String({
    format: 'email',
    maxLength: 320,
    description: 'E-mail of the person who answers.',
  }),
});

export const ChatMessage = component('ChatMessage', 'A message of a chat session.', {
  message_id: integer('The identifier of the message.'),
  parent_message_id: nullable(Type.Integer(), 'The message that it follows; null for the first.'),
  role: described(
    oneOf(['user', 'assistant', 'agent']),
    'Who speaks: the user, the assistant, or a person of the company (`agent`).',
  ),
  message: described(Text, 'The text.'),
  channel_message_id: nullable(Text, 'The identifier that the channel has given it.'),
  agent_id: nullable(described(Text, 'The agent that answered, or the e-mail of the person who did.')),
  citations: described(Type.Array(Citation), 'What it rests on, by number.'),
  feedback: nullable(Type.Object(feedbackFields), 'What was said of it.'),
  error_msg: nullable(described(Text, 'Why there is no answer; the same question again asks anew.')),
  created_at: moment('When it was made.'),
});
export type ChatMessage = Static<typeof ChatMessage>;
export const ChatMessagePage = pageOf(ChatMessage, 'ChatMessagePage');
