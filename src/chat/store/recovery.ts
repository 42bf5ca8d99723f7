import type { Transaction } from '../../infra/postgres/client.ts';
import { ALIVE_MS, CLAIM_GRACE_MS, JUDGE_MS, LOOK_MAX } from '../limits.ts';
import type { Turn } from '../turn.ts';

/** The first of a session's line: mine, or one whose process has died. */
export type FirstInLine = {
  answerId: number;
  owner: string;
  attempt: number;
  isMine: boolean;
  isLost: boolean;
};

/** `recoveries`: how often it was taken over since it was last asked for. They are kept with its caller: asking sets both. */
export type RecoveredTurn = Turn & { recoveries: number };

export type RecoveryStore = ReturnType<typeof createRecoveryStore>;

/** The shared state of the processes: leases and answers. `owner` is this process. */
export function createRecoveryStore(sql: Transaction, owner: string) {
  const after = (ms: number) => sql`clock_timestamp() + ${ms}::float8 * interval '1 ms'`;
  return {
    /** From now on this process counts as living, for a while. */
    async live(): Promise<void> {
      await sql`
        INSERT INTO chat_processes AS p (id, alive_until, judges_from, judges_until)
        VALUES (${owner}, ${after(ALIVE_MS)}, ${after(ALIVE_MS)}, ${after(JUDGE_MS)})
        ON CONFLICT (id) DO UPDATE SET
          alive_until = excluded.alive_until, judges_until = excluded.judges_until,
          judges_from = CASE WHEN p.judges_until < clock_timestamp() THEN excluded.judges_from ELSE p.judges_from END`;
    },

    /** Ends the lease of this process, so that any other can take over its answers. */
    async leave(): Promise<void> {
      await sql`DELETE FROM chat_processes WHERE id = ${owner}`;
    },

    /** Those that died long ago. */
    async forgetDead(): Promise<void> {
      await sql`DELETE FROM chat_processes WHERE alive_until < clock_timestamp() - interval '1 hour'`;
    },

    /** `isLost`: its process is dead, or is this one and has had the time to know of it. */
    firstsInLine(): Promise<FirstInLine[]> {
      return sql<FirstInLine[]>`
        SELECT * FROM (
          SELECT f.id AS "answerId", f.owner, f.attempts AS attempt, f.owner = ${owner} AS "isMine",
            CASE WHEN f.owner = ${owner}
              THEN f.claimed_at < clock_timestamp() - ${CLAIM_GRACE_MS}::float8 * interval '1 ms'
              ELSE NOT chat_is_alive(f.owner) END AS "isLost"
          FROM (SELECT DISTINCT ON (session_id) id, owner, attempts, claimed_at FROM chat_messages
                WHERE state = 'pending' ORDER BY session_id, place) f) firsts
        WHERE "isMine" OR "isLost" ORDER BY "isLost" DESC LIMIT ${LOOK_MAX}`;
    },

    /** Makes the answer this process's, unless another process was faster: then undefined. */
    async adopt({ answerId, owner: before, attempt }: FirstInLine): Promise<RecoveredTurn | undefined> {
      const [turn] = await sql<RecoveredTurn[]>`
        WITH mine AS (
          UPDATE chat_messages SET owner = ${owner}, attempts = attempts + 1, claimed_at = clock_timestamp(),
            caller = (caller::jsonb || jsonb_build_object('recoveries', coalesce((caller ->> 'recoveries')::int, 0) + 1))::json
          WHERE id = ${answerId} AND state = 'pending' AND owner = ${before} AND attempts = ${attempt} RETURNING *)
        SELECT mine.workspace_id AS "workspaceId", mine.session_id AS "sessionId",
          s.channel_session_id AS "channelSessionId", s.persona_id AS "personaId", s.agi_id AS "agiId",
          s.history_version AS "historyVersion",
          mine.agent_id AS "agentId", q.parent_id AS "parentId", q.id AS "userMessageId", mine.id AS "answerId",
          q.channel_message_id AS "channelMessageId", mine.channel_message_id AS "channelAnswerId", q.message,
          mine.caller, mine.attempts AS attempt, (mine.caller ->> 'recoveries')::int AS recoveries
        FROM mine JOIN chat_messages q ON q.id = mine.parent_id JOIN chat_sessions s ON s.id = mine.session_id`;
      return turn;
    },
  };
}
