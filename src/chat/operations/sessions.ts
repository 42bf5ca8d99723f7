import { notFound } from '../../core/errors.ts';
import type { WakeEventMover } from '../../core/event.ts';
import { type Page, type PageRequest, toPage } from '../../http/paging.ts';
import type { ChatSession } from '../schema.ts';
import type { Session, SessionReference, SessionStore } from '../store/sessions.ts';

/** The conversations that a caller may reach. `subject` is who asks. */
export function createSessions({ store, wakeMover }: { store: SessionStore; wakeMover: WakeEventMover }) {
  return {
    async list(of: Omit<SessionReference, 'sessionId'>, page: PageRequest): Promise<Page<ChatSession>> {
      return toPage(await store.list(of, page), page.limit, render);
    },

    /** Throws 404. */
    async rename(
      reference: SessionReference,
      change: { title: string; subject: string },
    ): Promise<ChatSession> {
      const renamed = await store.rename(reference, change);
      if (renamed === undefined) throw sessionNotFound();
      wakeMover();
      return render(renamed);
    },

    /** With every message; an answer that is being made is dropped. Throws 404. */
    async delete(reference: SessionReference, by: { subject: string }): Promise<void> {
      if (!(await store.delete(reference, by))) throw sessionNotFound();
      wakeMover();
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
