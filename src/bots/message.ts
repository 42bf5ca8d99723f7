// The message that the platform shows.

import type { ChatappEvent } from './event-schema.ts';
import { TEXT_BYTES_MAX } from './limits.ts';

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
  // A UTF-16 unit has at most three bytes.
  if (text.length * 3 <= bytesMax) return text.toWellFormed();
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return text.toWellFormed();
  let end = bytesMax;
  while (end > 0 && isContinuation(bytes[end])) end--;
  return bytes.toString('utf8', 0, end);
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;
