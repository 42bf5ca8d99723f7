import { ValidationFailure } from '../core/errors.ts';
import { createValidator } from '../http/validation.ts';
import { isAddOnEvent, parseAddOnEvent } from './add-on.ts';
import { ChatappEvent, ChatappMessageRequest } from './event-schema.ts';

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
  const check = WITHOUT_MESSAGE.has(typeOf(body)) ? checkOther : checkMessage;
  const { value, entries } = check(body, ['body']);
  if (entries.length > 0) throw new ValidationFailure(entries);
  return value as ChatappEvent;
}

function typeOf(body: unknown): string {
  const type = typeof body === 'object' && body !== null && 'type' in body ? body.type : undefined;
  return typeof type === 'string' ? type : '';
}
