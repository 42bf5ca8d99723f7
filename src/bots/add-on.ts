// The format of Google Workspace add-ons: conversion of its events into those of chat apps, and of messages into its actions.

import { type ValidationEntry, ValidationFailure, valueError } from '../core/errors.ts';
import { missing } from '../http/mistakes.ts';
import { createValidator } from '../http/validation.ts';
import { ChatappAddOnEvent, type ChatappAddOnReply, type PayloadName, TYPES } from './add-on-schema.ts';
import { type ChatappEvent, fieldsOf, isObject } from './event-schema.ts';
import type { Message } from './message.ts';

const NAMES = Object.keys(TYPES) as PayloadName[];

/** Whether a body is in this format: it has `chat`, with a payload or a type, or beside `commonEventObject`. */
export function isAddOnEvent(body: unknown): boolean {
  if (!isObject(body) || body['type'] !== undefined || !isObject(body['chat'])) return false;
  const { chat, commonEventObject } = body;
  return (
    isObject(commonEventObject) ||
    typeof chat['type'] === 'string' ||
    NAMES.some((name) => chat[name] !== undefined)
  );
}

const check = createValidator(ChatappAddOnEvent);

/**
 * Converts the event of an add-on into the chat app's own format. Without a known payload its type is the `type` of `chat`,
 * or `UNSPECIFIED`. Throws ValidationFailure with the mistakes in it.
 */
export function parseAddOnEvent(body: unknown): ChatappEvent {
  const { value, entries } = check(body, ['body']);
  if (entries.length > 0) throw new ValidationFailure(entries);
  const { chat, commonEventObject } = value as ChatappAddOnEvent;
  const [name, ...others] = NAMES.filter((each) => (chat[each] ?? undefined) !== undefined);
  if (others.length > 0) throw valueError(['body', 'chat'], 'an event has one payload', [name, ...others]);
  const payload = name === undefined ? undefined : chat[name];
  const space = payload?.space ?? chat.space ?? payload?.message?.space ?? undefined;
  const absent = name === undefined ? [] : mistakesOf(chat, name, space);
  if (absent.length > 0) throw new ValidationFailure(absent);
  const event = {
    type: name === undefined ? (chat.type ?? 'UNSPECIFIED') : TYPES[name],
    eventTime: chat.eventTime ?? '',
    user: chat.user,
    space: space ?? {},
    message: payload?.message ?? null,
    configCompleteRedirectUrl: payload?.configCompleteRedirectUri ?? null,
    common: toCommon(commonEventObject ?? {}),
    appCommandMetadata: payload?.appCommandMetadata ?? null,
  };
  return event;
}

/** Without its time an event has no idempotency key, and without a space it belongs to no session. */
function mistakesOf(
  chat: ChatappAddOnEvent['chat'],
  name: PayloadName,
  space: ChatappEvent['space'] | undefined,
): readonly ValidationEntry[] {
  const hasTime = chat.eventTime !== undefined && chat.eventTime !== null;
  return [
    ...(hasTime ? [] : [missing(['body', 'chat', 'eventTime'], chat)]),
    ...(space === undefined ? [missing(['body', 'chat', name, 'space'], chat[name])] : []),
  ];
}

/** Cards that were sent before the app became an add-on name their function among the parameters. */
function toCommon(common: Record<string, unknown>): Record<string, unknown> {
  const { [FUNCTION]: invokedFunction, ...parameters } = fieldsOf(common['parameters']);
  return typeof invokedFunction === 'string' ? { ...common, invokedFunction, parameters } : common;
}

const FUNCTION = '__action_method_name__';

export const renderForAddOn = ({ text }: Message): ChatappAddOnReply | Record<string, never> =>
  text === undefined
    ? {}
    : { hostAppDataAction: { chatDataAction: { createMessageAction: { message: { text } } } } };
