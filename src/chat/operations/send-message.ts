import { notFound } from '../../core/errors.ts';
import type { Principal } from '../../core/principal.ts';
import type { Accepted, AcceptQuestion } from '../accept.ts';
import { toCaller, toReach } from '../caller.ts';
import { type ShowCitations, shownTo } from '../citations.ts';
import { refuseReserved } from '../reserved.ts';
import { requestKeyOf, type SessionKeys, sessionKeyOf } from '../session-key.ts';

export type SendMessageRequest = {
  message: string;
  channelMessageId: string;
  channelAnswerId: string;
};

/**
 * Accepts a message into its session; a repeated request with the same id gets the same answer. Throws the errors of
 * `AcceptQuestion`, 404 for an unknown session, and ValidationFailure.
 */
export function createSendMessage({ take, show }: { take: AcceptQuestion; show: ShowCitations }) {
  return async (
    principal: Principal,
    keys: SessionKeys,
    { message, channelMessageId, channelAnswerId }: SendMessageRequest,
  ): Promise<Accepted> => {
    refuseReserved(keys);
    const taken = await take({
      workspaceId: keys.workspaceId,
      place: { sessionKey: sessionKeyOf(keys) },
      requestKey: requestKeyOf(channelMessageId),
      ...{ message, channelMessageId, channelAnswerId },
      agentId: null,
      reach: toReach(principal),
      caller: toCaller(principal),
    });
    if (taken === 'no session') throw notFound('Chat session not found');
    return { ...taken, answerStream: shownTo(principal, taken.answerStream, show) };
  };
}
