import { notFound } from '../../core/errors.ts';
import type { Principal } from '../../core/principal.ts';
import type { Accepted, AcceptQuestion } from '../accept.ts';
import { type ShowCitations, shownTo } from '../citations.ts';
import { editKeyOf, refuseReserved, requestKeyOf, type SessionKeys, sessionKeyOf } from '../session-key.ts';
import type { MessageReference } from '../store/messages.ts';
import type { Question } from '../store/turns.ts';
import { toCaller, toReach } from '../turn.ts';

export type SendMessageRequest = { message: string; channelMessageId: string; channelAnswerId: string };

type Asked = Omit<Question, 'agentId' | 'reach' | 'caller'>;

/** Both throw the errors of `AcceptQuestion`, 404 for an unknown session, and ValidationFailure. */
export function createSendMessage({ take, show }: { take: AcceptQuestion; show: ShowCitations }) {
  const ask = async (principal: Principal, asked: Asked): Promise<Accepted> => {
    const by = { agentId: null, reach: toReach(principal), caller: toCaller(principal) };
    const taken = await take({ ...asked, ...by });
    if (taken === 'no session') throw notFound('Chat session not found');
    return { ...taken, answerStream: shownTo(principal, taken.answerStream, show) };
  };
  return {
    /** Accepts a message into its session; a repeated request with the same id gets the same answer. */
    async send(principal: Principal, keys: SessionKeys, sent: SendMessageRequest): Promise<Accepted> {
      refuseReserved(keys);
      return ask(principal, {
        ...sent,
        workspaceId: keys.workspaceId,
        place: { sessionKey: sessionKeyOf(keys) },
        requestKey: requestKeyOf(sent.channelMessageId),
      });
    },

    /**
     * Adds a question beside the one that it replaces, with a new answer; the conversation continues from there. A
     * repeated request of the same change gets the same answer.
     */
    edit(
      principal: Principal,
      { workspaceId, messageId }: Omit<MessageReference, 'reach'>,
      message: string,
    ): Promise<Accepted> {
      return ask(principal, {
        workspaceId,
        message,
        channelMessageId: null,
        channelAnswerId: null,
        place: { replaces: messageId },
        requestKey: editKeyOf(messageId, message),
      });
    },
  };
}
