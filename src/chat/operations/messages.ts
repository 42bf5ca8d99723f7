import { notFound } from '../../core/errors.ts';
import type { WakeEventMover } from '../../core/event.ts';
import type { Principal } from '../../core/principal.ts';
import { type Page, type PageRequest, renderCursor } from '../../http/paging.ts';
import { assertMessageSize } from '../accept.ts';
import type { ShowCitations } from '../citations.ts';
import type { ChatMessage } from '../schema.ts';
import type { Feedback, Message, MessageReference, MessageStore } from '../store/messages.ts';
import type { SessionReference, SessionStore } from '../store/sessions.ts';
import { sessionNotFound } from './sessions.ts';

export type MessagesDeps = {
  store: MessageStore;
  sessions: Pick<SessionStore, 'exists'>;
  show: ShowCitations;
  wakeMover: WakeEventMover;
};

/** The operations on messages besides sending. `subject` is the person of the request. */
export function createMessages({ store, sessions, show, wakeMover }: MessagesDeps) {
  return {
    /** In order of arrival, all branches, as the caller is shown them. Throws 404. */
    async list(
      principal: Principal,
      reference: SessionReference,
      { limit, after }: PageRequest,
    ): Promise<Page<ChatMessage>> {
      const { rows, more } = await store.list(reference, { limit, afterId: Number(after?.id ?? 0) });
      if (rows.length === 0 && !(await sessions.exists(reference))) throw sessionNotFound();
      const given = await show(principal, rows);
      const last = given.at(-1);
      return {
        items: given.map(render),
        next_cursor:
          more && last !== undefined ? renderCursor({ createdAt: last.createdAt, id: `${last.id}` }) : null,
      };
    },

    /** A person of the company answers. Throws 404, 413. */
    async addOfPerson(
      reference: SessionReference,
      words: { message: string; agentId: string; subject: string },
    ): Promise<ChatMessage> {
      assertMessageSize(words.message);
      const added = await store.addOfPerson(reference, words);
      if (added === undefined) throw sessionNotFound();
      wakeMover();
      return render(added);
    },

    /** Replaces the earlier rating of the answer. Throws 404. */
    async giveFeedback(
      reference: MessageReference,
      given: { feedback: Feedback; subject: string },
    ): Promise<void> {
      if (!(await store.giveFeedback(reference, given))) throw notFound('There is no answer of this id');
      wakeMover();
    },

    /** Deletes it with its answer; later messages stay. Throws 404. */
    async delete(reference: MessageReference, by: { subject: string }): Promise<void> {
      if (!(await store.delete(reference, by))) throw notFound('There is no user message of this id');
      wakeMover();
    },
  };
}

const render = (message: Message): ChatMessage => ({
  message_id: message.id,
  parent_message_id: message.parentId,
  role: message.role,
  message: message.message,
  channel_message_id: message.channelMessageId,
  agent_id: message.agentId,
  citations: message.citations,
  feedback: message.feedback,
  error_msg: message.error,
  created_at: message.createdAt.toISOString(),
});
