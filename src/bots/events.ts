// Reads events in both formats of the platform, and renders the messages that answer them.

import { type ValidationEntry, ValidationFailure, valueError } from '../core/errors.ts';
import { missing } from '../http/mistakes.ts';
import { createValidator } from '../http/validation.ts';
import {
  ChatappAddOnEvent,
  ChatappEvent,
  ChatappMessageRequest,
  type EventAnswer,
  fieldsOf,
  isObject,
  type PayloadName,
  TYPES,
} from './event-schema.ts';
import { TEXT_BYTES_MAX } from './limits.ts';

/** Types whose events need no message, no `configCompleteRedirectUrl` and no `common`. */
const WITHOUT_MESSAGE = new Set([
  'ADDED_TO_SPACE',
  'REMOVED_FROM_SPACE',
  'CARD_CLICKED',
  'APP_COMMAND',
  'APP_HOME',
  'SUBMIT_FORM',
  'WIDGET_UPDATED',
]);

const checkMessage = createValidator(ChatappMessageRequest);
const checkOther = createValidator(ChatappEvent);

/** The chat app's own format, or that of add-ons. An event is answered in the format in which it came. */
export type EventFormat = 'chat' | 'add-on';

/**
 * Reads an event's body and keeps unknown fields. A body in neither format is validated in the chat app's own. Throws
 * ValidationFailure with every mistake in it.
 */
export const parseEvent = (body: unknown): { event: ChatappEvent; format: EventFormat } =>
  isAddOnEvent(body)
    ? { event: parseAddOnEvent(body), format: 'add-on' }
    : { event: parseChatEvent(body), format: 'chat' };

function parseChatEvent(body: unknown): ChatappEvent {
  const type = fieldsOf(body)['type'];
  const check = typeof type === 'string' && WITHOUT_MESSAGE.has(type) ? checkOther : checkMessage;
  const { value, entries } = check(body, ['body']);
  if (entries.length > 0) throw new ValidationFailure(entries);
  return value as ChatappEvent;
}

const NAMES = Object.keys(TYPES) as PayloadName[];

/** Whether a body is in this format: it has `chat`, with a payload or a type, or beside `commonEventObject`. */
function isAddOnEvent(body: unknown): boolean {
  if (!isObject(body) || body['type'] !== undefined || !isObject(body['chat'])) return false;
  const { chat, commonEventObject } = body;
  return (
    isObject(commonEventObject) ||
    typeof chat['type'] === 'string' ||
    NAMES.some((name) => chat[name] !== undefined)
  );
}

const checkAddOn = createValidator(ChatappAddOnEvent);

/**
 * Converts the event of an add-on into the chat app's own format. Without a known payload its type is the `type` of `chat`,
 * or `UNSPECIFIED`. Throws ValidationFailure with the mistakes in it.
 */
function parseAddOnEvent(body: unknown): ChatappEvent {
  const { value, entries } = checkAddOn(body, ['body']);
  if (entries.length > 0) throw new ValidationFailure(entries);
  const { chat, commonEventObject } = value as ChatappAddOnEvent;
  const [name, ...others] = NAMES.filter((each) => (chat[each] ?? undefined) !== undefined);
  if (others.length > 0) throw valueError(['body', 'chat'], 'an event has one payload', [name, ...others]);
  const payload = name === undefined ? undefined : chat[name];
  const space = payload?.space ?? chat.space ?? payload?.message?.space ?? undefined;
  const absent = name === undefined ? [] : mistakesOf(chat, name, space);
  if (absent.length > 0) throw new ValidationFailure(absent);
  return {
    type: name === undefined ? (chat.type ?? 'UNSPECIFIED') : TYPES[name],
    eventTime: chat.eventTime ?? '',
    user: chat.user,
    space: space ?? {},
    message: payload?.message ?? null,
    configCompleteRedirectUrl: payload?.configCompleteRedirectUri ?? null,
    common: toCommon(commonEventObject ?? {}),
    appCommandMetadata: payload?.appCommandMetadata ?? null,
  } as ChatappEvent;
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

/** A message without a text is not shown. */
export type Message = { text?: string; actionResponse?: { type: 'NEW_MESSAGE' } };

/** A click is answered by a new message, so that the card is not replaced. */
export function renderMessage({ type }: ChatappEvent, text: string): Message {
  if (text === '') return {};
  const shown = { text: cutText(text, TEXT_BYTES_MAX) };
  return type === 'CARD_CLICKED' ? { actionResponse: { type: 'NEW_MESSAGE' }, ...shown } : shown;
}

/** The longest beginning of a text that has at most so many bytes in UTF-8, cut between two characters. */
export function cutText(text: string, bytesMax: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytesMax));
  return text.slice(0, read).toWellFormed();
}

/** The answer to an event in the format in which the event came. */
export const renderAnswer = (message: Message, format: EventFormat): EventAnswer =>
  format === 'chat' || message.text === undefined
    ? message
    : { hostAppDataAction: { chatDataAction: { createMessageAction: { message: { text: message.text } } } } };
