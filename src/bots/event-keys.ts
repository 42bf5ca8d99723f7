// The identity of an event, for deduplication, and the session that it belongs to. Both contain the verified sender, because
// whoever may send events can write any name into them.

import { hash } from 'node:crypto';
import { readClick } from './click.ts';
import { appCommandOf, type ChatappEvent } from './event-schema.ts';
import { KEY_LENGTH_MAX } from './limits.ts';

/** Who has sent an event: the user whose key it came with; undefined: the platform, which vouches for what the event says. */
export type Sender = string | undefined;

/**
 * The idempotency key of an event: a stored answer is the answer to the same event from the same sender, of the same person,
 * with the same text, in the same space.
 */
export function toReplayKey(event: ChatappEvent, sender: Sender): string {
  const { message, user, space } = event;
  const said = [message?.text?.trim() ?? '', message?.argumentText ?? null, message?.slashCommand ?? null];
  const place = { ...message?.space, ...space }.name ?? '';
  return sha256(JSON.stringify([toEventKey(event), sender ?? null, personOf(user), said, place]));
}

/**
 * The name of an event in its conversation: equal for each delivery of it, and different for each other event of the platform.
 * It is the name of the message that the person has sent. Other events have no message, or one that the person acts on: their
 * key is made of type, space, time, person, and of the click or the command.
 */
export function toEventKey(event: ChatappEvent): string {
  const { type, eventTime, message, user, space } = event;
  const name = message?.name ?? '';
  if (name !== '' && isSentMessage(event)) return bounded(name);
  const click = type === 'CARD_CLICKED' ? readClick(event) : undefined;
  const parts = [type, name, space.name ?? '', eventTime, personOf(user), click ?? null, appCommandOf(event)];
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

const personOf = ({ name, email }: ChatappEvent['user']): string => name || email || '';

/**
 * The session of an event: its space, where that is a direct message or has no threads, else its thread. (In a direct
 * message each message has its own thread, so that a session for each thread would have no history.) A key's events join only
 * conversations of its owner's events, and a direct message only one with the same person.
 */
export function toSessionKey({ message, space: eventSpace, user }: ChatappEvent, sender: Sender): string {
  const space = { ...message?.space, ...eventSpace };
  const direct =
    space.singleUserBotDm === true || space.type === 'DM' || space.spaceType === 'DIRECT_MESSAGE';
  const unthreaded = space.spaceThreadingState === 'UNTHREADED_MESSAGES';
  const thread = direct || unthreaded ? '' : (message?.thread?.name ?? '');
  // Without a space and a thread, the event must not join the session of another person.
  const key = thread || space.name || personOf(user) || 'unknown';
  if (sender === undefined) return bounded(key);
  return bounded(JSON.stringify([sender, key, direct ? personOf(user) : '']));
}

/** The name, or its digest where it is too long for a key. */
const bounded = (name: string): string => (name.length <= KEY_LENGTH_MAX ? name : `sha256:${sha256(name)}`);

const sha256 = (text: string): string => hash('sha256', text, 'hex');
