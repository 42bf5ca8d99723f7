// The answers to events, for events that come again.

import { hash } from 'node:crypto';
import type { Transaction } from '../infra/postgres/client.ts';
import type { BotReference } from './bots.ts';
import type { Message } from './events.ts';
import { REPLY_SWEEP_STEP } from './limits.ts';

export type ReplyStore = ReturnType<typeof createReplyStore>;

/** The answers to events, by bot and replay key of the event. */
export function createReplyStore(sql: Transaction) {
  const hashOf = (replayKey: string): Buffer => hash('sha256', replayKey, 'buffer');
  return {
    async find({ workspaceId, id }: BotReference, replayKey: string): Promise<Message | undefined> {
      const [row] = await sql<{ message: Message }[]>`
        SELECT message FROM bot_replies
        WHERE workspace_id = ${workspaceId} AND bot_id = ${id} AND event_hash = ${hashOf(replayKey)}`;
      return row?.message;
    },

    /** Stores the answer, unless the event has one; returns the stored one, and whether it was stored before. */
    async keep(
      { workspaceId, id }: BotReference,
      { replayKey, message, at }: { replayKey: string; message: Message; at: Date },
    ): Promise<{ message: Message; replayed: boolean }> {
      const [row] = await sql<{ message: Message; replayed: boolean }[]>`
        INSERT INTO bot_replies (workspace_id, bot_id, event_hash, message, created_at)
        VALUES (${workspaceId}, ${id}, ${hashOf(replayKey)}, ${sql.json(message)}::json, ${at})
        ON CONFLICT (workspace_id, bot_id, event_hash) DO UPDATE SET event_hash = excluded.event_hash
        RETURNING message, xmax <> 0 AS replayed`;
      return row ?? { message, replayed: false };
    },

    /** Deletes some replies that are older than the platform repeats events; returns how many. */
    async deleteSome(before: Date): Promise<number> {
      const { count } = await sql`
        DELETE FROM bot_replies WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM bot_replies WHERE created_at < ${before} ORDER BY created_at LIMIT ${REPLY_SWEEP_STEP}))`;
      return count;
    },
  };
}
