// What the platform sends where a chat app is a Google Workspace add-on, and what it takes for an answer.

import { type Static, Type } from '@sinclair/typebox';
import { ChatappMessage, ChatappSpace, ChatappUser, optional, Text } from './event-schema.ts';
import { ADD_ON_EVENT_EXAMPLE } from './examples.ts';

const Fields = Type.Record(Type.String(), Type.Unknown());

const Payload = Type.Object(
  {
    message: optional(ChatappMessage),
    space: optional(ChatappSpace),
    configCompleteRedirectUri: Text,
    appCommandMetadata: optional(Fields),
  },
  { $id: 'ChatappAddOnPayload', additionalProperties: true },
);
const MessagePayload = Type.Object(
  { ...Payload.properties, message: ChatappMessage },
  { $id: 'ChatappAddOnMessagePayload', additionalProperties: true },
);

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

export const ChatappAddOnEvent = Type.Object(
  {
    commonEventObject: optional(Fields),
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
  { $id: 'ChatappAddOnEvent', additionalProperties: true, examples: [ADD_ON_EVENT_EXAMPLE] },
);
export type ChatappAddOnEvent = Static<typeof ChatappAddOnEvent>;

export const ChatappAddOnReply = Type.Object(
  {
    hostAppDataAction: Type.Object({
      chatDataAction: Type.Object({
        createMessageAction: Type.Object({ message: Type.Object({ text: Type.String() }) }),
      }),
    }),
  },
  { $id: 'ChatappAddOnReply', description: 'The answer to an event of an add-on that is told something.' },
);
export type ChatappAddOnReply = Static<typeof ChatappAddOnReply>;
