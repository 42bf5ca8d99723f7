import type { Transaction } from '../../infra/postgres/client.ts';
import { EXPIRED_STEP_SESSIONS } from '../limits.ts';

/** The removal of conversations in which nothing has been said or changed since a moment. */
export function createConversationRetention(sql: Transaction) {
  let after = 0;
  return {
    /**
     * Reads the next sessions that are old enough, deletes those that nobody has used since, and returns how many it read: 0 at
     * the end, and the next call begins again. Sessions are read by age, because an index of their last use would cost each message.
     */
    async deleteSome(before: Date): Promise<number> {
      const [row] = await sql<{ read: number; last: number | null }[]>`
        WITH old AS MATERIALIZED (
          SELECT id FROM chat_sessions WHERE id > ${after} AND created_at < ${before}
          ORDER BY id LIMIT ${EXPIRED_STEP_SESSIONS}),
        -- One that is used in the meantime is kept: the conditions are checked again behind its lock.
        gone AS (
          DELETE FROM chat_sessions s USING old
          WHERE s.id = old.id AND s.updated_at < ${before} AND s.pending = 0
          RETURNING s.id, s.workspace_id, s.person),
        messages AS (DELETE FROM chat_messages m USING gone WHERE m.session_id = gone.id)
        SELECT count(*)::int AS read, max(id) AS last,
          (SELECT count(usage_tell(workspace_id, 'chat.delete', person, json_build_object(
            'value', '1', 'chat_session_id', id))) FROM gone) AS told
        FROM old`;
      after = row?.last ?? 0;
      return row?.read ?? 0;
    },
  };
}
