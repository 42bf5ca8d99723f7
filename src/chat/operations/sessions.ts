import { notFound } from '../../core/errors.ts';
import { type Page, type PageRequest, toPage } from '../../http/paging.ts';
import type { Tell } from '../events.ts';
import type { ChatSession } from '../schema.ts';
import type { Session, SessionReference, SessionStore } from '../store/sessions.ts';

/** The conversations that a caller may reach. `subject` is who asks. */
export function createSessions({ store, tell }: { store: SessionStore; tell: Tell }) {
  return {
    async list(of: Omit<SessionReference, 'sessionId'>, page: PageRequest): Promise<Page<ChatSession>> {
      return toPage(await store.list(of, page), page.limit, {
        position: ({ createdAt, id }) => ({ createdAt, id: `${id}` }),
        item: render,
      });
    },

    /** Throws 404. */
    async rename(
      reference: SessionReference,
      change: { title: string; subject: string },
    ): Promise<ChatSession> {
      const renamed = await store.rename(reference, change);
      if (renamed === undefined) throw sessionNotFound();
      tell(renamed.event);
      return render(renamed.session);
    },

    /** With every message; an answer that is being made is dropped. Throws 404. */
    async delete(reference: SessionReference, by: { subject: string }): Promise<void> {
      const event = await store.delete(reference, by);
      if (event === undefined) throw sessionNotFound();
      tell(event);
    },
  };
}

export const sessionNotFound = () => notFound('Chat session not found');

const render = (session: Session): ChatSession => ({
  chat_session_id: session.id,
  channel_session_id: session.channelSessionId,
  channel: session.channel,
  channel_plugin: session.channelPlugin,
  channel_id: session.channelId,
  persona_id: session.personaId,
  agi_id: session.agiId,
  title: session.title,
  user: session.person,
  message_count: session.messageCount,
  created_at: session.createdAt.toISOString(),
  updated_at: session.updatedAt.toISOString(),
});
