// What the platform sends where a chat app is a Google Workspace add-on, and what it takes for an answer.

import { type Static, Type } from '@sinclair/typebox';
import { component, described, openComponent, optional } from '../http/schemas.ts';
import { ChatappMessage, ChatappSpace, ChatappUser, Text } from './event-schema.ts';
import { ADD_ON_EVENT_EXAMPLE } from './examples.ts';

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

export const ChatappAddOnReply = component(
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
export type ChatappAddOnReply = Static<typeof ChatappAddOnReply>;
