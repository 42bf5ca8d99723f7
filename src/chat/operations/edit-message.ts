import { notFound } from '../../core/errors.ts';
import type { Principal } from '../../core/principal.ts';
import type { Accepted, AcceptQuestion } from '../accept.ts';
import { toCaller, toReach } from '../caller.ts';
import { type ShowCitations, shownTo } from '../citations.ts';
import { editKeyOf } from '../session-key.ts';
import type { MessageReference } from '../store/messages.ts';

/**
 * Adds a question beside the one that it replaces, with a new answer; the conversation continues from there. A repeated
 * request of the same change gets the same answer. Throws the errors of `AcceptQuestion`.
 */
export function createEditMessage({ take, show }: { take: AcceptQuestion; show: ShowCitations }) {
  return async (
    principal: Principal,
    { workspaceId, messageId }: Omit<MessageReference, 'reach'>,
    message: string,
  ): Promise<Accepted> => {
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
    return { ...taken, answerStream: shownTo(principal, taken.answerStream, show) };
  };
}
