// A bot's answer: the first of its replies whose match is part of the message. Agents may have a thousand replies and messages half
// a megabyte, and searching a text for a part costs their product at worst, so the search runs in time slices.

import { createPauses } from '../core/time-slices.ts';
import { REPLY_WINDOW_LENGTH } from './limits.ts';
import type { Agent } from './store/agents.ts';

/** In any case; `*` matches all. `''` if none matches. Throws the signal's reason when it aborts. */
export async function replyTo(
  replies: Agent['replies'],
  message: string,
  signal: AbortSignal,
): Promise<string> {
  const text = message.toLowerCase();
  const pause = createPauses();
  for (const { match, reply } of replies) {
    if (match === '*') return reply;
    const part = match.toLowerCase();
    for (let at = 0; at < text.length; at += REPLY_WINDOW_LENGTH) {
      await pause();
      signal.throwIfAborted();
      if (text.slice(at, at + REPLY_WINDOW_LENGTH + part.length - 1).includes(part)) return reply;
    }
  }
  return '';
}
