import { notFound } from '../../core/errors.ts';
import type { Principal } from '../../core/principal.ts';
import { toCaller, toReach } from '../caller.ts';
import { type ShowCitations, shownTo } from '../citations.ts';
import { editKeyOf } from '../session-key.ts';
import type { MessageReference } from '../store/messages.ts';
import type { Taken, TakeQuestion } from '../take.ts';

/**
 * A question beside the one that it replaces, answered anew; the conversation goes on from there. The same change again
 * is led to the same answer. Throws what `TakeQuestion` throws.
 */
export function createEditMessage({ take, show }: { take: TakeQuestion; show: ShowCitations }) {
  return async (
    principal: Principal,
    { workspaceId, messageId }: Omit<MessageReference, 'reach'>,
    message: string,
  ): Promise<Taken> => {
    const taken = await take({
      workspaceId,
      place: { replaces: messageId },
      requestKey: editKeyOf(messageId, message),
      ...{ message, channelMessageId: null, channelAnswerId: null },
      agentId: null,
      reach: toReach(principal),
      caller: toCaller(principal),
    });
    if (taken === 'no session') throw notFound('Chat session not found');
    return { ...taken, feed: shownTo(principal, taken.feed, show) };
  };
}
