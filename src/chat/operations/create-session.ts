import type { WakeEventMover } from '../../core/event.ts';
import type { Principal } from '../../core/principal.ts';
import type { ChatSessionCreated } from '../schema.ts';
import type { SessionKeys } from '../session-key.ts';
import { refuseReserved, refuseUnreachable } from '../session-key.ts';
import type { SessionStore } from '../store/sessions.ts';
import { toReach } from '../turn.ts';

export type CreateSessionRequest = { keys: SessionKeys; personaId: number; agiId: string };

/** The caller's session of the five keys: new, or as it was but for another persona or agi. Throws ValidationFailure. */
export function createCreateSession({
  store,
  wakeMover,
}: {
  store: Pick<SessionStore, 'open'>;
  wakeMover: WakeEventMover;
}) {
  return async (
    principal: Principal,
    { keys, personaId, agiId }: CreateSessionRequest,
  ): Promise<ChatSessionCreated> => {
    refuseReserved(keys);
    refuseUnreachable(keys);
    const { session, created, told } = await store.open(
      { ...keys, personaId, agiId, person: principal.email },
      { reach: toReach(principal), rebinds: true },
    );
    if (told) wakeMover();
    return {
      chat_session_id: session.id,
      channel_session_id: session.channelSessionId,
      persona_id: session.personaId,
      agi_id: session.agiId,
      workspace_id: session.workspaceId,
      channel: session.channel,
      channel_plugin: session.channelPlugin,
      channel_id: session.channelId,
      created,
      created_at: session.createdAt.toISOString(),
    };
  };
}
