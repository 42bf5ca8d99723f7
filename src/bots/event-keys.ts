// What an event is known by: to tell it when it comes again, and to find the conversation that it belongs to.

import { hash } from 'node:crypto';
import { appCommandOf } from './app-command.ts';
import { readClick } from './click.ts';
import type { ChatappEvent } from './event-schema.ts';
import { KEY_LENGTH_MAX } from './limits.ts';

/**
 * The same for an event that comes again, and for no other event of its bot: the name of the message that the person has
 * sent. Other events have no message, or one that the person acts on; their type, space, time and person tell them, and
 * what was clicked or chosen.
 */
export function toEventKey(event: ChatappEvent): string {
  const { type, eventTime, message, user, space } = event;
  const name = message?.name ?? '';
  if (name !== '' && isSaid(event)) return bounded(name);
  const click = type === 'CARD_CLICKED' ? readClick(event) : undefined;
  const who = user.name ?? user.email ?? '';
  const parts = [type, name, space.name ?? '', eventTime, who, click ?? null, appCommandOf(event)];
  return `${type.slice(0, KEY_LENGTH_MAX / 2)}:${sha256(JSON.stringify(parts))}`;
}

/** Whether the message of an event is the one by which it came about. */
function isSaid(event: ChatappEvent): boolean {
  if (event.type !== 'APP_COMMAND') return SAID.has(event.type);
  return (
    (event.message?.slashCommand ?? undefined) !== undefined || appCommandOf(event).type === 'SLASH_COMMAND'
  );
}

const SAID = new Set(['MESSAGE', 'ADDED_TO_SPACE']);

/** The key of a turn, of an event that is answered in several: the last has the event's own. */
export const toTurnKey = (eventKey: string, turnsAfter: number): string =>
  turnsAfter === 0 ? eventKey : bounded(`${eventKey}:${turnsAfter} before`);

/**
 * The conversation of an event: its space, where that is a direct message or has no threads, else its thread. (In a
 * direct message each message is a thread of its own: it would remember nothing.)
 */
export function toSessionKey({ message, space: where, user }: ChatappEvent): string {
  const space = { ...message?.space, ...where };
  const direct =
    space.singleUserBotDm === true || space.type === 'DM' || space.spaceType === 'DIRECT_MESSAGE';
  const unthreaded = space.spaceThreadingState === 'UNTHREADED_MESSAGES';
  const thread = direct || unthreaded ? '' : (message?.thread?.name ?? '');
  // Without either the event must not join the conversation of another person.
  return bounded(thread || space.name || user.name || user.email || 'unknown');
}

/** A name as it is, unless it is longer than names are. */
const bounded = (name: string): string => (name.length <= KEY_LENGTH_MAX ? name : `sha256:${sha256(name)}`);

const sha256 = (text: string): string => hash('sha256', text, 'hex');
