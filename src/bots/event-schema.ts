// What the platform sends: the events of chat apps.

import { type Static, type TSchema, Type } from '@sinclair/typebox';

/** Nested fields may all be absent: real events leave out most of them. */
export const optional = <S extends TSchema>(schema: S) => Type.Optional(Type.Union([schema, Type.Null()]));
export const Text = optional(Type.String());
/** Its inner structure is not laid down. */
const Anything = Type.Optional(Type.Unknown());

export const ChatappUser = Type.Object(
  {
    name: Text,
    displayName: Text,
    avatarUrl: Text,
    email: Text,
    type: Text,
    domainId: Text,
  },
  { $id: 'ChatappUser', additionalProperties: true },
);

export const ChatappSpace = Type.Object(
  {
    name: Text,
    type: Text,
    singleUserBotDm: optional(Type.Boolean()),
    spaceThreadingState: Text,
    spaceType: Text,
    spaceHistoryState: Text,
    spaceUri: Text,
  },
  { $id: 'ChatappSpace', additionalProperties: true },
);

const ChatappThread = Type.Object(
  { name: Text, retentionSettings: Anything },
  { $id: 'ChatappThread', additionalProperties: true },
);

const ChatappSlashCommand = Type.Object(
  { commandId: Text },
  { $id: 'ChatappSlashCommand', additionalProperties: true },
);

export const ChatappMessage = Type.Object(
  {
    name: Text,
    createTime: Text,
    text: Text,
    formattedText: Text,
    messageHistoryState: Text,
    sender: optional(ChatappUser),
    space: optional(ChatappSpace),
    thread: optional(ChatappThread),
    annotations: Anything,
    argumentText: Anything,
    retentionSettings: Anything,
    slashCommand: optional(ChatappSlashCommand),
  },
  { $id: 'ChatappMessage', additionalProperties: true },
);

/** Of a message, and of event types that are not known. */
export const ChatappMessageRequest = Type.Object(
  {
    type: Type.String(),
    eventTime: Type.String(),
    message: ChatappMessage,
    user: ChatappUser,
    space: ChatappSpace,
    configCompleteRedirectUrl: Type.String(),
    common: Type.Record(Type.String(), Type.Unknown()),
  },
  { $id: 'ChatappMessageRequest', additionalProperties: true },
);

const { type, eventTime, message, user, space, configCompleteRedirectUrl, common } =
  ChatappMessageRequest.properties;

/** Of the other known types. */
export const ChatappEvent = Type.Object(
  {
    type,
    eventTime,
    message: optional(message),
    user,
    space,
    configCompleteRedirectUrl: optional(configCompleteRedirectUrl),
    common: optional(common),
  },
  { $id: 'ChatappEvent', additionalProperties: true },
);
export type ChatappEvent = Static<typeof ChatappEvent>;
export type ChatappMessage = Static<typeof ChatappMessage>;
