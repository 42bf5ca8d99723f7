// What the platform sends, as a chat app of its own or as a Google Workspace add-on, and what it takes for an answer.

import { type Static, Type } from '@sinclair/typebox';
import { component, described, openComponent, optional, text } from '../http/schemas.ts';

const USER = {
  name: 'users/1234567890',
  displayName: 'Ada Lovelace',
  avatarUrl: 'https://chat.example/ada.png',
  email: 'ada@example.com',
  type: 'HUMAN',
  domainId: 'example',
};

const SPACE = {
  name: 'spaces/AAAAMpdlehY',
  type: 'DM',
  singleUserBotDm: true,
  spaceThreadingState: 'UNTHREADED_MESSAGES',
  spaceType: 'DIRECT_MESSAGE',
  spaceHistoryState: 'HISTORY_ON',
  spaceUri: 'https://chat.example/dm/AAAAMpdlehY',
};

export const EVENT_EXAMPLE = {
  type: 'MESSAGE',
  eventTime: '2026-01-31T10:00:00.123456Z',
  message: {
    name: 'spaces/AAAAMpdlehY/messages/UMxbHmzDlr4.UMxbHmzDlr4',
    sender: USER,
    createTime: '2026-01-31T10:00:00.123456Z',
    text: 'Where is the annual report?',
    argumentText: 'Where is the annual report?',
    thread: { name: 'spaces/AAAAMpdlehY/threads/UMxbHmzDlr4' },
    space: SPACE,
  },
  user: USER,
  space: SPACE,
  configCompleteRedirectUrl: 'https://chat.example/configured',
  common: { userLocale: 'en', hostApp: 'CHAT' },
};

const ADD_ON_EVENT_EXAMPLE = {
  commonEventObject: { userLocale: 'en', hostApp: 'CHAT', platform: 'WEB' },
  chat: {
    user: USER,
    eventTime: EVENT_EXAMPLE.eventTime,
    messagePayload: { message: EVENT_EXAMPLE.message, space: SPACE },
  },
};

/** Nested fields may all be absent: real events leave out most of them. */
const Text = optional(Type.String());
/** Its inner structure is not laid down. */
const Anything = Type.Optional(Type.Unknown());

const ChatappUser = openComponent('ChatappUser', 'A user of the chat platform.', {
  name: described(Text, 'The resource name of the user.'),
  displayName: described(Text, 'The name that is shown.'),
  avatarUrl: described(Text, 'Where the picture is.'),
  email: described(Text, 'The e-mail address.'),
  type: described(Text, '`HUMAN` or `BOT`.'),
  domainId: described(Text, 'The organisation of the user.'),
});

const ChatappSpace = openComponent('ChatappSpace', 'A conversation of the chat platform.', {
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

const ChatappMessage = openComponent('ChatappMessage', 'A message of the chat platform.', {
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

const Fields = Type.Record(Type.String(), Type.Unknown());

const Payload = openComponent('ChatappAddOnPayload', 'What has happened.', {
  message: optional(ChatappMessage, 'The message that it is about.'),
  space: optional(ChatappSpace, 'Where it happened.'),
  configCompleteRedirectUri: described(Text, 'Where a person is sent on after a configuration.'),
  appCommandMetadata: optional(Fields, 'The command that was called.'),
});
const MessagePayload = openComponent('ChatappAddOnMessagePayload', 'A message that was written.', {
  ...Payload.properties,
  message: ChatappMessage,
});

/** Types of events, by the payload that makes them. */
export const TYPES = {
  messagePayload: 'MESSAGE',
  addedToSpacePayload: 'ADDED_TO_SPACE',
  removedFromSpacePayload: 'REMOVED_FROM_SPACE',
  buttonClickedPayload: 'CARD_CLICKED',
  appCommandPayload: 'APP_COMMAND',
  widgetUpdatedPayload: 'WIDGET_UPDATED',
} as const;
export type PayloadName = keyof typeof TYPES;

export const ChatappAddOnEvent = component(
  'ChatappAddOnEvent',
  'An event of a Google Workspace add-on.',
  {
    commonEventObject: optional(Fields, 'Information about the client.'),
    chat: Type.Object(
      {
        user: ChatappUser,
        eventTime: Text,
        type: Type.Optional(
          Type.Union([Type.String(), Type.Null()], {
            description: '`APP_HOME` or `SUBMIT_FORM`, which have no payload.',
          }),
        ),
        space: optional(ChatappSpace),
        messagePayload: optional(MessagePayload),
        addedToSpacePayload: optional(Payload),
        removedFromSpacePayload: optional(Payload),
        buttonClickedPayload: optional(Payload),
        appCommandPayload: optional(Payload),
        widgetUpdatedPayload: optional(Payload),
      },
      { additionalProperties: true, description: 'It has one payload, which says what has happened.' },
    ),
  },
  { additionalProperties: true, examples: [ADD_ON_EVENT_EXAMPLE] },
);
export type ChatappAddOnEvent = Static<typeof ChatappAddOnEvent>;

const ChatappAddOnReply = component(
  'ChatappAddOnReply',
  'A message, as the answer to an event of an add-on.',
  {
    hostAppDataAction: described(
      Type.Object({
        chatDataAction: Type.Object({
          createMessageAction: Type.Object({ message: Type.Object({ text: Type.String() }) }),
        }),
      }),
      'The action that sends the message.',
    ),
  },
);

const ChatappReply = component(
  'ChatappReply',
  'A message of the chat app; `{}` says nothing, in either format.',
  {
    text: Type.Optional(text('What is said.')),
    actionResponse: Type.Optional(
      described(Type.Object({ type: Type.String() }), 'How the chat app is to treat the message.'),
    ),
  },
);

export const EventBody = Type.Union([ChatappMessageRequest, ChatappEvent, ChatappAddOnEvent]);
export const EventAnswer = Type.Union([ChatappReply, ChatappAddOnReply]);
export type EventAnswer = Static<typeof EventAnswer>;

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The members of an object whose structure is not validated; none for any other value. */
export const fieldsOf = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});

/** The command of newer events, which may have no message: its id and its type, if present. */
export function appCommandOf(event: ChatappEvent): { id: unknown; type: unknown } {
  const command = fieldsOf((event as { appCommandMetadata?: unknown }).appCommandMetadata);
  return { id: command['appCommandId'], type: command['appCommandType'] };
}
