// The messages of conversations, as their readers see and change them. turns.ts has the states of questions and answers.

import type { Transaction } from '../infra/postgres/client.ts';
import { PAGE_BYTES_MAX } from './limits.ts';
import {
  isUniqueViolation,
  reachedBy,
  requestKeyOf,
  type SessionReference,
  sessionKeyOf,
  sessionNotFound,
} from './sessions.ts';
import type { Citation, Reach, SessionKeys } from './turn.ts';

export type Feedback = { is_positive: boolean; feedback_text: string };

export type Message = {
  id: number;
  parentId: number | null;
  role: 'user' | 'assistant' | 'agent';
  message: string;
  channelMessageId: string | null;
  agentId: string | null;
  citations: Citation[];
  feedback: Feedback | null;
  error: string | null;
  createdAt: Date;
};

/** A message of a session that the caller may reach: for others there is none. */
export type MessageReference = { workspaceId: string; messageId: number; reach: Reach };
export type StoppedAnswer = { answerId: number; userMessageId: number; isStopped: boolean };
export type MessageStore = ReturnType<typeof createMessageStore>;

/** A finished reply that a channel stores, with the message that it answers, if there is one. */
export type Reply = {
  session: SessionKeys;
  reach: Reach;
  message: string | null;
  channelMessageId: string;
  /** The same again is the same reply. */
  requestKey: string;
  reply: string;
  subject: string;
};

export function createMessageStore(sql: Transaction) {
  const columns = sql`id, parent_id AS "parentId", role, message, channel_message_id AS "channelMessageId",
    agent_id AS "agentId", coalesce(citations, '[]') AS citations, feedback, error_msg AS error,
    created_at AS "createdAt"`;
  return {
    /** In order, without answers that are being made; a page ends with the row that takes it beyond its bytes. */
    async list(
      { workspaceId, sessionId, reach }: SessionReference,
      { limit, afterId }: { limit: number; afterId: number },
    ): Promise<{ rows: Message[]; more: boolean }> {
      const rows = await sql<(Message & { following: number })[]>`
        WITH page AS (
          SELECT * FROM chat_messages
          WHERE session_id = ${sessionId} AND workspace_id = ${workspaceId} AND id > ${afterId}
            AND EXISTS (SELECT FROM chat_sessions WHERE id = ${sessionId} AND ${reachedBy(sql, reach)})
            AND deleted_at IS NULL AND state IS DISTINCT FROM 'pending'
          ORDER BY id LIMIT ${limit + 1}),
        sized AS (
          SELECT *, sum(octet_length(message)) OVER (ORDER BY id) - octet_length(message) AS bytes_before,
            (count(*) OVER ())::int AS following
          FROM page)
        SELECT ${columns}, following FROM sized WHERE bytes_before < ${PAGE_BYTES_MAX} ORDER BY id LIMIT ${limit}`;
      return { rows, more: (rows[0]?.following ?? 0) > rows.length };
    },

    /** Adds a person's message after the last one; undefined if there is no such session. */
    async addOfPerson(
      { workspaceId, sessionId, reach }: SessionReference,
      { message, agentId, subject }: { message: string; agentId: string; subject: string },
    ): Promise<Message | undefined> {
      const [added] = await sql<Message[]>`
        WITH here AS (
          SELECT id, head_id FROM chat_sessions WHERE id = ${sessionId} AND workspace_id = ${workspaceId}
            AND ${reachedBy(sql, reach)} FOR UPDATE),
        made AS (
          INSERT INTO chat_messages (session_id, workspace_id, parent_id, role, message, agent_id)
          SELECT id, ${workspaceId}, head_id, 'agent', ${message}, ${agentId} FROM here RETURNING *),
        moved AS (
          UPDATE chat_sessions SET head_id = made.id, message_count = message_count + 1, updated_at = now()
          FROM made WHERE chat_sessions.id = made.session_id)
        SELECT ${columns}, usage_tell(workspace_id, 'messages.agent.new', ${subject}, json_build_object(
          'value', '1', 'message_id', id, 'chat_session_id', session_id, 'agent_id', agent_id))
        FROM made`;
      return added;
    },

    /** Of an answer, or a person's words; false where there are none. */
    async giveFeedback(
      { workspaceId, messageId, reach }: MessageReference,
      { feedback, subject }: { feedback: Feedback; subject: string },
    ): Promise<boolean> {
      const rows = await sql`
        WITH rated AS (
          UPDATE chat_messages SET feedback = ${JSON.stringify(feedback)}::text::json
          WHERE id = ${messageId} AND workspace_id = ${workspaceId} AND role <> 'user'
            AND deleted_at IS NULL AND coalesce(state, 'done') = 'done'
            AND EXISTS (SELECT FROM chat_sessions WHERE id = session_id AND ${reachedBy(sql, reach)}) RETURNING *)
        SELECT usage_tell(workspace_id, 'messages.user.feedback', ${subject}, json_build_object(
          'value', '1', 'message_id', id, 'is_positive', ${feedback.is_positive}::boolean,
          'feedback_text', ${feedback.feedback_text}::text))
        FROM rated`;
      return rows.length > 0;
    },

    /**
     * Deletes a question with its answer: their texts are removed, the messages behind them stay, and the process that
     * is to answer the question gets a notice. False where there is no such question.
     */
    async delete({ workspaceId, messageId, reach }: MessageReference, subject: string): Promise<boolean> {
      const rows = await sql`
        WITH here AS MATERIALIZED (
          SELECT id FROM chat_sessions WHERE id = (
            SELECT session_id FROM chat_messages WHERE id = ${messageId} AND workspace_id = ${workspaceId})
            AND ${reachedBy(sql, reach)} FOR UPDATE),
        question AS MATERIALIZED (
          SELECT m.id, m.answer_id, m.session_id FROM here JOIN chat_messages m ON m.session_id = here.id
          WHERE m.id = ${messageId} AND m.role = 'user' AND m.deleted_at IS NULL FOR UPDATE OF m),
        gone AS (
          UPDATE chat_messages m SET deleted_at = now(), message = '', citations = NULL, feedback = NULL
          FROM question WHERE m.id IN (question.id, question.answer_id) RETURNING m.id, m.state),
        counted AS (
          UPDATE chat_sessions s SET updated_at = now(),
            message_count = message_count - (SELECT count(*) FROM gone WHERE state IS DISTINCT FROM 'pending')
          FROM question WHERE s.id = question.session_id)
        SELECT usage_tell(${workspaceId}, 'messages.user.delete', ${subject}, json_build_object(
          'value', '1', 'message_id', id)),
          (SELECT pg_notify('atrium_invalidate', 'chat:' || gone.id) FROM gone WHERE state = 'pending')
        FROM question`;
      return rows.length > 0;
    },

    /**
     * Marks the answer with this id, or to the question with this id, as stopped if it is being made, and notifies the process
     * that makes it. `isStopped`: it is marked now, or was stopped before. Undefined where there is no such answer.
     */
    async stopAnswer({
      workspaceId,
      messageId,
      reach,
    }: MessageReference): Promise<StoppedAnswer | undefined> {
      const [row] = await sql<StoppedAnswer[]>`
        WITH here AS MATERIALIZED (
          SELECT coalesce(m.answer_id, m.id) AS id
          FROM chat_messages m JOIN chat_sessions ON chat_sessions.id = m.session_id
          WHERE m.id = ${messageId} AND m.workspace_id = ${workspaceId} AND m.deleted_at IS NULL
            AND ${reachedBy(sql, reach)}),
        marked AS (
          UPDATE chat_messages m SET watched = true, stopped = true
          FROM here WHERE m.id = here.id AND m.state = 'pending' RETURNING m.id)
        SELECT a.id AS "answerId", a.parent_id AS "userMessageId",
          EXISTS (SELECT FROM marked) OR coalesce(a.finish_reason = 'stopped' OR a.error_kind = 'conflict', false) AS "isStopped",
          (SELECT pg_notify('atrium_invalidate', 'chat:' || marked.id) FROM marked)
        FROM here JOIN chat_messages a ON a.id = here.id AND a.state IS NOT NULL`;
      return row;
    },

    /** Stores a reply that no model makes, unless the request was answered before; returns the stored answer. Throws 404. */
    async addReply({ session, reach, message, ...reply }: Reply): Promise<string> {
      const { workspaceId } = session;
      const requestKey = requestKeyOf(reply.requestKey);
      try {
        const rows = await sql`
          WITH here AS MATERIALIZED (
            SELECT id, head_id FROM chat_sessions
            WHERE key = ${sessionKeyOf(session)} AND ${reachedBy(sql, reach)} FOR NO KEY UPDATE),
          ids AS MATERIALIZED (
            SELECT id, head_id, CASE WHEN ${message !== null} THEN nextval('chat_message_ids') END AS question,
              nextval('chat_message_ids') AS answer FROM here),
          questions AS (
            INSERT INTO chat_messages (id, session_id, workspace_id, parent_id, role, message, channel_message_id,
              request_key, answer_id)
            SELECT question, id, ${workspaceId}, head_id, 'user', ${message}, ${reply.channelMessageId}, ${requestKey}::uuid,
              answer FROM ids WHERE question IS NOT NULL),
          answers AS (
            INSERT INTO chat_messages (id, session_id, workspace_id, parent_id, role, message, request_key, state, attempts,
              finish_reason, prompt_tokens, completion_tokens)
            SELECT answer, id, ${workspaceId}, coalesce(question, head_id), 'assistant', ${reply.reply},
              CASE WHEN question IS NULL THEN ${requestKey}::uuid END, 'done', 1, 'stop', 0, 0 FROM ids),
          sessions AS (
            UPDATE chat_sessions s SET head_id = answer, updated_at = clock_timestamp(),
              message_count = s.message_count + CASE WHEN question IS NULL THEN 1 ELSE 2 END
            FROM ids WHERE s.id = ids.id)
          SELECT CASE WHEN question IS NOT NULL THEN usage_tell(${workspaceId}, 'messages.user.new', ${reply.subject},
              json_build_object('value', '1', 'message_id', question, 'chat_session_id', id)) END,
            usage_tell(${workspaceId}, 'messages.rag.bot.new', ${reply.subject},
              json_build_object('value', '1', 'message_id', answer, 'chat_session_id', id))
          FROM ids`;
        if (rows.length === 0) throw sessionNotFound();
        return reply.reply;
      } catch (error) {
        if (!isUniqueViolation(error)) throw error;
        const [known] = await sql<{ answer: string | null }[]>`
          SELECT a.message AS answer FROM chat_sessions s JOIN chat_messages m ON m.session_id = s.id
          LEFT JOIN chat_messages a ON a.id = coalesce(m.answer_id, m.id) AND a.state = 'done'
          WHERE s.key = ${sessionKeyOf(session)} AND ${reachedBy(sql, reach)} AND m.request_key = ${requestKey}`;
        return known?.answer ?? reply.reply;
      }
    },
  };
}
