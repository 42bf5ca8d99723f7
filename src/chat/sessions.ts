// The rows of conversations.

import { codeOf, notFound } from '../core/errors.ts';
import { isAdmin } from '../core/principal.ts';
import type { PageRequest } from '../http/paging.ts';
import type { Sql, Transaction } from '../infra/postgres/client.ts';
import { EXPIRED_STEP_SESSIONS } from './limits.ts';
import type { Reach, SessionKeys } from './turn.ts';

export type Session = SessionKeys & {
  id: number;
  personaId: number;
  agiId: string;
  title: string | null;
  /** An e-mail; `''` where it is unknown. */
  person: string;
  messageCount: number;
  createdAt: Date;
  updatedAt: Date;
};

/** A session that the caller may reach: for others there is none. */
export type SessionReference = { workspaceId: string; sessionId: number; reach: Reach };
export type NewSession = SessionKeys &
  Pick<Session, 'personaId' | 'agiId' | 'person'> & {
    /** Whose documents the questions of an administrator read, where that is not the person. */
    readsAs?: string | undefined;
  };
export type SessionStore = ReturnType<typeof createSessionStore>;

/** It can be made or deleted between two statements. */
const TRIES = 3;

export function createSessionStore(sql: Sql) {
  let expiredUpTo = 0;
  const columns = sql`id, workspace_id AS "workspaceId", channel, channel_plugin AS "channelPlugin",
    channel_id AS "channelId", channel_session_id AS "channelSessionId", persona_id AS "personaId", agi_id AS "agiId",
    title, person, message_count AS "messageCount", created_at AS "createdAt", updated_at AS "updatedAt"`;
  const insert = async (session: NewSession, { userId }: Reach): Promise<Session | undefined> => {
    const [made] = await sql<Session[]>`
      WITH made AS (
        INSERT INTO chat_sessions
          (workspace_id, key, user_id, channel, channel_plugin, channel_id, channel_session_id, persona_id, agi_id,
           person, reads_as)
        VALUES (${session.workspaceId}, ${sessionKeyOf(session)}, ${userId}, ${session.channel},
          ${session.channelPlugin}, ${session.channelId}, ${session.channelSessionId}, ${session.personaId},
          ${session.agiId}, ${session.person}, ${session.readsAs ?? null})
        ON CONFLICT (key, user_id) DO NOTHING RETURNING *)
      SELECT ${columns}, usage_tell(workspace_id, 'chat.create', person, json_build_object(
        'value', '1', 'persona_id', persona_id, 'chat_session_id', id))
      FROM made`;
    return made;
  };
  const rebind = async (id: number, session: NewSession): Promise<Session | undefined> => {
    const [bound] = await sql<Session[]>`
      WITH bound AS (
        UPDATE chat_sessions SET persona_id = ${session.personaId}, agi_id = ${session.agiId}, updated_at = now()
        WHERE id = ${id}
          AND (persona_id, agi_id) IS DISTINCT FROM (${session.personaId}::bigint, ${session.agiId})
        RETURNING *)
      SELECT ${columns}, usage_tell(workspace_id, 'chat.rename', ${session.person}, json_build_object(
        'value', '1', 'chat_session_id', id))
      FROM bound`;
    return bound;
  };
  const findByKeys = async (keys: SessionKeys, reach: Reach): Promise<Session | undefined> => {
    const [found] = await sql<Session[]>`
      SELECT ${columns} FROM chat_sessions WHERE key = ${sessionKeyOf(keys)} AND ${reachedBy(sql, reach)}
      ORDER BY user_id = ${reach.userId} DESC, id LIMIT 1`;
    return found;
  };

  return {
    /**
     * The caller's session of the five keys, for administrators also another person's; created if there is none. It
     * stores a changed persona or agi (`rebinds`). `changed`: an event of it is in the outbox.
     */
    async open(
      session: NewSession,
      { reach, rebinds }: { reach: Reach; rebinds: boolean },
    ): Promise<{ session: Session; created: boolean; changed: boolean }> {
      const { personaId, agiId } = session;
      for (let attempt = 0; attempt < TRIES; attempt++) {
        const found = await findByKeys(session, reach);
        if (found === undefined) {
          const made = await insert(session, reach);
          if (made === undefined) continue;
          return { session: made, created: true, changed: true };
        }
        const isSame = found.personaId === personaId && found.agiId === agiId;
        const bound = isSame || !rebinds ? undefined : await rebind(found.id, session);
        return { session: bound ?? found, created: false, changed: bound !== undefined };
      }
      throw new Error('a session that is there cannot be read');
    },

    /** Newest first, one row more than the limit where others follow; `channel`: of this one alone. */
    list(
      { workspaceId, reach, channel }: Omit<SessionReference, 'sessionId'> & { channel: string | undefined },
      { limit, after }: PageRequest,
    ): Promise<Session[]> {
      return sql<Session[]>`
        SELECT ${columns} FROM chat_sessions
        WHERE workspace_id = ${workspaceId} AND ${reachedBy(sql, reach)}
          AND ${channel === undefined ? sql`true` : sql`channel = ${channel}`}
          AND ${after === undefined ? sql`true` : sql`(created_at, id) < (${after.createdAt}, ${after.id}::bigint)`}
        ORDER BY created_at DESC, id DESC LIMIT ${limit + 1}`;
    },

    async exists({ workspaceId, sessionId, reach }: SessionReference): Promise<boolean> {
      const rows = await sql`
        SELECT FROM chat_sessions WHERE workspace_id = ${workspaceId} AND id = ${sessionId} AND ${reachedBy(sql, reach)}`;
      return rows.length > 0;
    },

    async rename(
      { workspaceId, sessionId, reach }: SessionReference,
      { title, subject }: { title: string; subject: string },
    ): Promise<Session | undefined> {
      const [renamed] = await sql<Session[]>`
        WITH renamed AS (
          UPDATE chat_sessions SET title = ${title}, updated_at = now()
          WHERE workspace_id = ${workspaceId} AND id = ${sessionId} AND ${reachedBy(sql, reach)} RETURNING *)
        SELECT ${columns}, usage_tell(workspace_id, 'chat.rename', ${subject}, json_build_object(
          'value', '1', 'chat_session_id', id))
        FROM renamed`;
      return renamed;
    },

    /** Deletes it with its messages; `subject` is the person of the event. Whether there was one. */
    delete({ workspaceId, sessionId, reach }: SessionReference, subject: string): Promise<boolean> {
      return sql.begin(async (tx) => {
        const deleted = await tx`
          DELETE FROM chat_sessions
          WHERE id = ${sessionId} AND workspace_id = ${workspaceId} AND ${reachedBy(tx, reach)} RETURNING id`;
        if (deleted.length === 0) return false;
        // A statement of its own: it sees the messages that were accepted while the first one waited for the session's lock.
        await tx`DELETE FROM chat_messages WHERE session_id = ${sessionId}`;
        await tx`SELECT usage_tell(${workspaceId}, 'chat.delete', ${subject}, json_build_object(
          'value', '1', 'chat_session_id', ${sessionId}::bigint))`;
        return true;
      });
    },

    /**
     * Reads the next sessions that are old enough, deletes those that were not used since `before`, and returns how many it read:
     * 0 at the end, and the next call begins again. Sessions are read by age, because an index of their last use would cost each
     * message.
     */
    async deleteExpired(before: Date): Promise<number> {
      const [row] = await sql<{ read: number; last: number | null }[]>`
        WITH old AS MATERIALIZED (
          SELECT id FROM chat_sessions WHERE id > ${expiredUpTo} AND created_at < ${before}
          ORDER BY id LIMIT ${EXPIRED_STEP_SESSIONS}),
        -- A session that is used in the meantime is kept: the conditions are checked again behind its lock.
        gone AS (
          DELETE FROM chat_sessions s USING old
          WHERE s.id = old.id AND s.updated_at < ${before} AND s.pending = 0
          RETURNING s.id, s.workspace_id, s.person),
        messages AS (DELETE FROM chat_messages m USING gone WHERE m.session_id = gone.id)
        SELECT count(*)::int AS read, max(id) AS last,
          (SELECT count(usage_tell(workspace_id, 'chat.delete', person, json_build_object(
            'value', '1', 'chat_session_id', id))) FROM gone) AS told
        FROM old`;
      expiredUpTo = row?.last ?? 0;
      return row?.read ?? 0;
    },
  };
}

/** Of a row of `chat_sessions`: whether the caller may reach it. */
export const reachedBy = (sql: Transaction, reach: Reach) =>
  isAdmin(reach) ? sql`true` : sql`user_id = ${reach.userId}`;

/** Stands for the five keys of a session. */
export const sessionKeyOf = (keys: SessionKeys): string =>
  digest([keys.workspaceId, keys.channel, keys.channelPlugin, keys.channelId, keys.channelSessionId]);

/** Stands for a message within its session: by the channel's identifier, or by the message that it replaces and its text. */
export const requestKeyOf = (text: string, replaces?: number): string =>
  digest(replaces === undefined ? ['message', text] : ['edit', `${replaces}`, text]);

/** The texts may be too long for an index: this is 128 bits of their SHA-256, as a uuid. */
function digest(parts: readonly string[]): string {
  const hex = new Bun.CryptoHasher('sha256').update(JSON.stringify(parts)).digest('hex');
  return hex.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

export const sessionNotFound = () => notFound('Chat session not found');

/** PostgreSQL's error 23505 (manual, appendix A). */
export const isUniqueViolation = (error: unknown): boolean => codeOf(error) === '23505';
