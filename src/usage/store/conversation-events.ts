// The events of one chat session: by indexes, so that their cost is that of a page and not of the workspace.

import type { PageRequest } from '../../http/paging.ts';
import type { Transaction } from '../../infra/postgres/client.ts';
import { EVENTS_OF_MESSAGES_MAX } from '../limits.ts';
import { renderTimestamp, type StoredEvent } from './reader.ts';

export type ConversationEvents = {
  events: StoredEvent[];
  /** Of the last event of the page; undefined where no others follow. */
  next: { createdAt: Date; id: string } | undefined;
};

type Row = StoredEvent & { place: number | null; following: boolean; ms: number };

export type ConversationEventReader = ReturnType<typeof createConversationEventReader>;

export function createConversationEventReader(sql: Transaction) {
  return {
    /**
     * A page of the events that name the session, in order of storage, and behind it those that name one of its messages without the
     * session: feedback, deletions, and changes with what happened to the changed message.
     */
    async page(
      { workspaceId, sessionId }: { workspaceId: string; sessionId: number },
      { limit, after }: PageRequest,
    ): Promise<ConversationEvents> {
      const own = sql`workspace_id = ${workspaceId} AND source = 'atrium'`;
      const ofMessage = sql`type IN ('messages.user.feedback', 'messages.user.delete', 'messages.user.update')
        AND coalesce(data ->> 'message_id', data ->> 'old_message_id')`;
      const beyond =
        after === undefined
          ? sql``
          : sql`AND (created_at, id) > (${renderTimestamp(after.createdAt.getTime())}::timestamp, ${after.id}::uuid)`;
      const rows = await sql<Row[]>`
        WITH RECURSIVE of_session AS MATERIALIZED (
          SELECT created_at, id, data ->> 'message_id' AS message_id, row_number() OVER (ORDER BY created_at, id) AS place
          FROM usage_events WHERE ${own} AND data ->> 'chat_session_id' = ${`${sessionId}`} ${beyond}
          ORDER BY created_at, id LIMIT ${limit + 1}),
        of_messages AS (
          SELECT e.created_at, e.id, e.data ->> 'new_message_id' AS changed
          FROM of_session s CROSS JOIN LATERAL (
            SELECT * FROM usage_events WHERE ${own} AND ${ofMessage} = s.message_id LIMIT ${EVENTS_OF_MESSAGES_MAX}) e
          WHERE s.place <= ${limit}
          UNION
          SELECT e.created_at, e.id, e.data ->> 'new_message_id'
          FROM of_messages m CROSS JOIN LATERAL (
            SELECT * FROM usage_events WHERE ${own} AND ${ofMessage} = m.changed LIMIT ${EVENTS_OF_MESSAGES_MAX}) e),
        found AS (
          SELECT created_at, id, place FROM of_session WHERE place <= ${limit}
          UNION ALL (SELECT created_at, id, NULL FROM of_messages LIMIT ${EVENTS_OF_MESSAGES_MAX}))
        SELECT e.id, e.created_at::text, e.event_id, e.source, e.type, e.subject, e.time::text, e.data::text,
          e.extensions::text, found.place::int, (extract(epoch FROM e.created_at) * 1000)::float8 AS ms,
          (SELECT count(*) > ${limit} FROM of_session) AS following
        FROM found JOIN usage_events e ON e.workspace_id = ${workspaceId}
          AND e.created_at = found.created_at AND e.id = found.id
        ORDER BY found.place NULLS LAST, e.created_at, e.id`;
      const last = rows.findLast(({ place }) => place !== null);
      return {
        events: rows,
        next:
          last?.following === true ? { createdAt: new Date(Math.round(last.ms)), id: last.id } : undefined,
      };
    },
  };
}
