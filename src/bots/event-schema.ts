// What the platform sends: the events of chat apps.

import { type Static, Type } from '@sinclair/typebox';
import { described, openComponent, optional, text } from '../http/schemas.ts';

/** Nested fields may all be absent: real events leave out most of them. */
export const Text = optional(Type.String());
/** Its inner structure is not laid down. */
const Anything = Type.Optional(Type.Unknown());

export const ChatappUser = openComponent('ChatappUser', 'A user of the chat platform.', {
  name: described(Text, 'The resource name of the user.'),
  displayName: described(Text, 'The name that is shown.'),
  avatarUrl: described(Text, 'Where the picture is.'),
  email: described(Text, 'The e-mail address.'),
  type: described(Text, '`HUMAN` or `BOT`.'),
  domainId: described(Text, 'The organisation of the user.'),
});

export const ChatappSpace = openComponent('ChatappSpace', 'A conversation of the chat platform.', {
  name: described(Text, 'The resource name of the space.'),
  type: described(Text, '`DM` or `ROOM`.'),
  singleUserBotDm: optional(Type.Boolean(), 'Whether one person speaks with the bot alone.'),
  spaceThreadingState: described(Text, 'Whether messages have threads.'),
  spaceType: described(Text, 'What kind of space it is.'),
  spaceHistoryState: described(Text, 'Whether the space keeps its messages.'),
  spaceUri: described(Text, 'Where people open it.'),
});

const ChatappThread = openComponent('ChatappThread', 'A thread of a space.', {
  name: described(Text, 'The resource name of the thread.'),
  retentionSettings: described(Anything, 'How long its messages are kept.'),
});

const ChatappSlashCommand = openComponent('ChatappSlashCommand', 'A command that a message is.', {
  commandId: described(Text, 'The number that the command has with the chat app.'),
});

export const ChatappMessage = openComponent('ChatappMessage', 'A message of the chat platform.', {
  name: described(Text, 'The resource name of the message.'),
  createTime: described(Text, 'When it was written.'),
  text: described(Text, 'The text as it was written, mentions included.'),
  formattedText: described(Text, 'The text with its formatting.'),
  messageHistoryState: described(Text, 'Whether it is kept.'),
  sender: optional(ChatappUser, 'Who wrote it.'),
  space: optional(ChatappSpace, 'Where it was written.'),
  thread: optional(ChatappThread, 'The thread that it is part of.'),
  annotations: described(Anything, 'Mentions, commands and links in the text.'),
  argumentText: described(Anything, 'The text without the mention of the bot.'),
  retentionSettings: described(Anything, 'How long it is kept.'),
  slashCommand: optional(ChatappSlashCommand, 'The command that it is.'),
});

/** Of a message, and of event types that are not known. */
export const ChatappMessageRequest = openComponent(
  'ChatappMessageRequest',
  'An event of a chat app: a message.',
  {
    type: text('What has happened: `MESSAGE`, for instance.'),
    eventTime: text('When it happened.'),
    message: ChatappMessage,
    user: ChatappUser,
    space: ChatappSpace,
    configCompleteRedirectUrl: text('Where a person is sent on after a configuration.'),
    common: described(Type.Record(Type.String(), Type.Unknown()), 'Information about the client.'),
  },
);

const { type, eventTime, message, user, space, configCompleteRedirectUrl, common } =
  ChatappMessageRequest.properties;

/** Of the other known types. */
export const ChatappEvent = openComponent('ChatappEvent', 'Another event of a chat app.', {
  type,
  eventTime,
  message: optional(message, 'The message that it is about.'),
  user,
  space,
  configCompleteRedirectUrl: optional(
    configCompleteRedirectUrl,
    'Where a person is sent on after a configuration.',
  ),
  common: optional(common, 'Information about the client.'),
});
export type ChatappEvent = Static<typeof ChatappEvent>;
export type ChatappMessage = Static<typeof ChatappMessage>;

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The members of an object whose structure is not validated; none for any other value. */
export const fieldsOf = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});

/** The command of newer events, which may have no message: its id and its type, if present. */
export function appCommandOf(event: ChatappEvent): { id: unknown; type: unknown } {
  const command = fieldsOf((event as { appCommandMetadata?: unknown }).appCommandMetadata);
  return { id: command['appCommandId'], type: command['appCommandType'] };
}
