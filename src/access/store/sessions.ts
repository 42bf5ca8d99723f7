import type { Author } from '../../core/author.ts';
import type { PageRequest } from '../../http/paging.ts';
import { audited } from '../../infra/postgres/audit.ts';
import type { Transaction } from '../../infra/postgres/client.ts';
import type { Provider } from '../schema.ts';

/** `workspaces`: those that the sign-in at the provider opens; null for other sign-ins. */
export type PortalSession = { keyHash: string; expiresAt: Date; workspaces: string[] | null };

/** A session that begins; the hash of the cookie's value is in hexadecimal. */
export type NewSession = {
  hash: string;
  userAgent: string | null;
  expiresAt: Date;
  createdAt: Date;
  /** As in PortalSession. */
  workspaces?: readonly string[];
};

export type ListedSession = {
  id: string;
  hash: string;
  userEmail: string;
  keyName: string;
  provider: Provider;
  userAgent: string | null;
  createdAt: Date;
  expiresAt: Date;
};

export type SessionStore = ReturnType<typeof createSessionStore>;

/** The tables portal_sessions and portal_links. Their keys are hashes of what the browser has, in hexadecimal. */
export function createSessionStore(sql: Transaction) {
  const emit = (type: 'login' | 'logout', provider: ReturnType<typeof sql>) => sql`
    usage_tell(workspace_id, ${`auth.user.${type}`}, email, json_build_object('value', 1, 'provider', ${provider}))`;
  /** `own`: the author is the session's person, which only the statement can look up. */
  const audit = (change: 'open' | 'close', author: Author, { own }: { own: boolean }) =>
    audited(sql, author, {
      action: `access.${change}-session`,
      workspace: sql`workspace_id`,
      kind: 'session',
      // The id of its key: that of the session itself is the hash of its cookie.
      id: sql`key_id`,
      ...(own ? { by: sql`jsonb_build_object('actor', email, 'userId', user_id, 'keyId', key_id)` } : {}),
    });
  /** The rest of a statement that has selected the key `chosen (key_id)`: opens the session, and emits the event. */
  const openSession = (session: NewSession, provider: Provider, author: Author) => sql`
    person AS (
      SELECT keys.id AS key_id, keys.workspace_id, user_id, email FROM keys JOIN users ON users.id = user_id
      WHERE keys.id = (SELECT key_id FROM chosen) AND keys.revoked_at IS NULL),
    opened AS (
      INSERT INTO portal_sessions (hash, key_id, provider, user_agent, expires_at, created_at, workspaces)
      SELECT decode(${session.hash}, 'hex'), key_id, ${provider}, ${session.userAgent},
        ${session.expiresAt}::timestamptz, ${session.createdAt}::timestamptz,
        ${session.workspaces === undefined ? null : sql.array([...session.workspaces])}::text[]
      FROM person)
    SELECT ${emit('login', sql`${provider}::text`)}, ${audit('open', author, { own: true })} FROM person`;
  /** The rest of a statement that has deleted sessions as `ended`: emits their events. */
  const tellEnd = (author: Author, whose: { own: boolean }) => sql`
    SELECT encode(hash, 'hex') AS hash, ${emit('logout', sql`provider`)}, ${audit('close', author, whose)}
    FROM (
      SELECT ended.hash, ended.key_id, ended.provider, keys.workspace_id, user_id, email
      FROM ended JOIN keys ON keys.id = key_id JOIN users ON users.id = user_id) AS told`;

  return {
    /** Inserts the session of a key and emits the event of the sign-in; false where the user of the key was deleted. */
    async insert(
      session: NewSession & { keyId: string; provider: Provider },
      author: Author,
    ): Promise<boolean> {
      const rows = await sql`
        WITH chosen AS (SELECT ${session.keyId}::uuid AS key_id), ${openSession(session, session.provider, author)}`;
      return rows.length > 0;
    },

    /** Likewise, with the one-time link that has this hash; the link is used up. False where there is no such link. */
    async insertByLink(session: NewSession & { linkHash: string }, author: Author): Promise<boolean> {
      const rows = await sql`
        WITH chosen AS (
          DELETE FROM portal_links
          WHERE hash = decode(${session.linkHash}, 'hex') AND expires_at > ${session.createdAt}
          RETURNING key_id), ${openSession(session, 'link', author)}`;
      return rows.length > 0;
    },

    /** Writes a row about a refused sign-in: of the workspace of the key with this hash, revoked or not, else of the service. */
    async noteRefusal(
      { keyHash, state }: { keyHash: string; state: { reason: string; omitted?: number } },
      author: Author,
    ): Promise<void> {
      const row = audited(sql, author, {
        action: 'access.refuse-sign-in',
        workspace: sql`coalesce(known.workspace_id, '')`,
        kind: 'session',
        id: sql`known.key_id`,
        after: sql`${sql.json(state)}::jsonb`,
        by: sql`jsonb_strip_nulls(jsonb_build_object('actor', email, 'userId', user_id, 'keyId', known.key_id))`,
      });
      await sql`
        WITH known AS (
          SELECT keys.id AS key_id, keys.workspace_id, user_id, email FROM keys LEFT JOIN users ON users.id = user_id
          WHERE hash = decode(${keyHash}, 'hex'))
        SELECT ${row} FROM (SELECT) AS one LEFT JOIN known ON true`;
    },

    /** The session, ended or not, with the hash of the key that opened it. */
    async find(hash: string): Promise<PortalSession | undefined> {
      const [row] = await sql<PortalSession[]>`
        SELECT encode(keys.hash, 'hex') AS "keyHash", portal_sessions.expires_at AS "expiresAt",
          workspaces
        FROM portal_sessions JOIN keys ON keys.id = key_id
        WHERE portal_sessions.hash = decode(${hash}, 'hex')`;
      return row;
    },

    /** The open sessions of a workspace's keys, newest first; one row more than the limit where others follow. */
    list(workspaceId: string, now: Date, { limit, after }: PageRequest): Promise<ListedSession[]> {
      return sql<ListedSession[]>`
        SELECT portal_sessions.id, encode(portal_sessions.hash, 'hex') AS hash, email AS "userEmail",
          keys.name AS "keyName", provider, user_agent AS "userAgent",
          portal_sessions.created_at AS "createdAt", portal_sessions.expires_at AS "expiresAt"
        FROM portal_sessions JOIN keys ON keys.id = key_id JOIN users ON users.id = user_id
        WHERE keys.workspace_id = ${workspaceId} AND keys.revoked_at IS NULL AND portal_sessions.expires_at > ${now}
          AND ${
            after === undefined
              ? sql`true`
              : sql`(portal_sessions.created_at, portal_sessions.id) < (${after.createdAt}, ${after.id})`
          }
        ORDER BY portal_sessions.created_at DESC, portal_sessions.id DESC LIMIT ${limit + 1}`;
    },

    /** Deletes the session with the cookie's hash, if it exists, and emits the event of the sign-out. */
    async delete(hash: string, author: Author): Promise<void> {
      await sql`
        WITH ended AS (
          DELETE FROM portal_sessions WHERE hash = decode(${hash}, 'hex') RETURNING hash, key_id, provider)
        ${tellEnd(author, { own: true })}`;
    },

    /** Likewise, the session with this id of a key of the workspace: the hash of its cookie; undefined where there is none. */
    async revoke(
      { workspaceId, id }: { workspaceId: string; id: string },
      author: Author,
    ): Promise<string | undefined> {
      const [row] = await sql<{ hash: string }[]>`
        WITH ended AS (
          DELETE FROM portal_sessions USING keys
          WHERE keys.id = key_id AND keys.workspace_id = ${workspaceId} AND portal_sessions.id = ${id}
          RETURNING portal_sessions.hash, key_id, provider)
        ${tellEnd(author, { own: false })}`;
      return row?.hash;
    },

    /** Whether the session with this id belongs to a key with the scope `operator`. */
    async isOfOperator(workspaceId: string, id: string): Promise<boolean> {
      const rows = await sql`
        SELECT FROM portal_sessions JOIN keys ON keys.id = key_id
        WHERE keys.workspace_id = ${workspaceId} AND portal_sessions.id = ${id} AND 'operator' = ANY (scopes)`;
      return rows.length > 0;
    },

    /** Keeps a one-time link. */
    async insertLink(link: { hash: string; keyId: string; expiresAt: Date }): Promise<void> {
      await sql`
        INSERT INTO portal_links (hash, key_id, expires_at)
        VALUES (decode(${link.hash}, 'hex'), ${link.keyId}, ${link.expiresAt})`;
    },

    /** Deletes the sessions and links that have ended, and those whose key is revoked. */
    async deleteEnded(now: Date): Promise<void> {
      await sql`
        DELETE FROM portal_sessions USING keys
        WHERE keys.id = key_id AND (portal_sessions.expires_at <= ${now} OR keys.revoked_at IS NOT NULL)`;
      await sql`DELETE FROM portal_links WHERE expires_at <= ${now}`;
    },
  };
}
