// The format of Google Workspace add-ons, read into the events and made of the messages that all bots know.

import { type ValidationEntry, ValidationFailure, valueError } from '../core/errors.ts';
import { createValidator, missing } from '../http/validation.ts';
import { ChatappAddOnEvent, type ChatappAddOnReply, type PayloadName, TYPES } from './add-on-schema.ts';
import type { ChatappEvent } from './event-schema.ts';
import { fieldsOf, isObject } from './fields.ts';
import type { Message } from './message.ts';

const NAMES = Object.keys(TYPES) as PayloadName[];

/** Whether a body is in this format: it tells of the chat, and of what has happened there or that an add-on is told. */
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
 * The event of an add-on, as the chat app's own format would tell it. The type of one without a known payload is what it
 * says, or `UNSPECIFIED`. Throws ValidationFailure with the mistakes in it.
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

/** Without its time an event could not be told from the next one like it, and without a space it belongs nowhere. */
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

/** Cards name no function, but those that were sent before the app became an add-on: theirs is among the parameters. */
function toCommon(common: Record<string, unknown>): Record<string, unknown> {
  const { [FUNCTION]: invokedFunction, ...parameters } = fieldsOf(common['parameters']);
  return typeof invokedFunction === 'string' ? { ...common, invokedFunction, parameters } : common;
}

const FUNCTION = '__action_method_name__';

/** A message as the action that sends it. */
export const renderForAddOn = ({ text }: Message): ChatappAddOnReply | Record<string, never> =>
  text === undefined
    ? {}
    : { hostAppDataAction: { chatDataAction: { createMessageAction: { message: { text } } } } };
