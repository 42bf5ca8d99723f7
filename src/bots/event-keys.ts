// The identity of an event, for deduplication, and the session that it belongs to.

import { hash } from 'node:crypto';
import { readClick } from './click.ts';
import { appCommandOf, type ChatappEvent } from './event-schema.ts';
import { KEY_LENGTH_MAX } from './limits.ts';

/**
 * The idempotency key of an event: equal for each delivery of it, and different for each other event of the bot. It is the
 * name of the message that the person has sent. Other events have no message, or one that the person acts on: their key
 * is made of type, space, time, person, and of the click or the command.
 */
export function toEventKey(event: ChatappEvent): string {
  const { type, eventTime, message, user, space } = event;
  const name = message?.name ?? '';
  if (name !== '' && isSentMessage(event)) return bounded(name);
  const click = type === 'CARD_CLICKED' ? readClick(event) : undefined;
  const person = user.name ?? user.email ?? '';
  const parts = [type, name, space.name ?? '', eventTime, person, click ?? null, appCommandOf(event)];
  return `${type.slice(0, KEY_LENGTH_MAX / 2)}:${sha256(JSON.stringify(parts))}`;
}

/** Whether the person has caused the event by sending its message. */
function isSentMessage(event: ChatappEvent): boolean {
  if (event.type !== 'APP_COMMAND') return SENT_TYPES.has(event.type);
  return (
    (event.message?.slashCommand ?? undefined) !== undefined || appCommandOf(event).type === 'SLASH_COMMAND'
  );
}

const SENT_TYPES = new Set(['MESSAGE', 'ADDED_TO_SPACE']);

/** The key of one of the messages that an event puts into its session: the last one has the key of the event. */
export const toMessageKey = (eventKey: string, messagesAfter: number): string =>
  messagesAfter === 0 ? eventKey : bounded(`${eventKey}:${messagesAfter} before`);

/**
 * The session of an event: its space, where that is a direct message or has no threads, else its thread. (In a direct
 * message each message has its own thread, so that a session for each thread would have no history.)
 */
export function toSessionKey({ message, space: eventSpace, user }: ChatappEvent): string {
  const space = { ...message?.space, ...eventSpace };
  const direct =
    space.singleUserBotDm === true || space.type === 'DM' || space.spaceType === 'DIRECT_MESSAGE';
  const unthreaded = space.spaceThreadingState === 'UNTHREADED_MESSAGES';
  const thread = direct || unthreaded ? '' : (message?.thread?.name ?? '');
  // Without a space and a thread, the event must not join the session of another person.
  return bounded(thread || space.name || user.name || user.email || 'unknown');
}

/** The name, or its digest where it is too long for a key. */
const bounded = (name: string): string => (name.length <= KEY_LENGTH_MAX ? name : `sha256:${sha256(name)}`);

const sha256 = (text: string): string => hash('sha256', text, 'hex');
