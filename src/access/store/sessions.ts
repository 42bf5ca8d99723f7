import type { Author } from '../../core/author.ts';
import { audited } from '../../infra/postgres/audit.ts';
import type { Transaction } from '../../infra/postgres/client.ts';

export type PortalSession = { keyHash: string; expiresAt: Date };

export type SessionStore = ReturnType<typeof createSessionStore>;

/** The portal_sessions table. Its key is the hash of the cookie's value, in hexadecimal. */
export function createSessionStore(sql: Transaction) {
  const emit = (type: 'login' | 'logout') => sql`
    usage_tell(workspace_id, ${`auth.user.${type}`}, email, json_build_object('value', 1, 'provider', 'key'))`;
  const audit = (change: 'open' | 'close', author: Author) =>
    audited(sql, author, {
      action: `access.${change}-session`,
      workspace: sql`workspace_id`,
      kind: 'session',
      // The id of its key: that of the session itself is the hash of its cookie.
      id: sql`key_id`,
      by: sql`jsonb_build_object('actor', email, 'userId', user_id, 'keyId', key_id)`,
    });
  return {
    /** Inserts the session and emits the event of the sign-in; false where the user of the key was deleted. */
    async insert(
      session: { hash: string; keyId: string; expiresAt: Date; createdAt: Date },
      author: Author,
    ): Promise<boolean> {
      const rows = await sql`
        WITH person AS (
          SELECT keys.id AS key_id, keys.workspace_id, user_id, email FROM keys JOIN users ON users.id = user_id
          WHERE keys.id = ${session.keyId}),
        opened AS (
          INSERT INTO portal_sessions (hash, key_id, expires_at, created_at)
          SELECT decode(${session.hash}, 'hex'), key_id, ${session.expiresAt}::timestamptz, ${session.createdAt}::timestamptz
          FROM person)
        SELECT ${emit('login')}, ${audit('open', author)} FROM person`;
      return rows.length > 0;
    },

    /** The session, ended or not, with the hash of the key that opened it. */
    async find(hash: string): Promise<PortalSession | undefined> {
      const [row] = await sql<PortalSession[]>`
        SELECT encode(keys.hash, 'hex') AS "keyHash", portal_sessions.expires_at AS "expiresAt"
        FROM portal_sessions JOIN keys ON keys.id = key_id
        WHERE portal_sessions.hash = decode(${hash}, 'hex')`;
      return row;
    },

    /** Deletes the session, if it exists, and emits the event of the sign-out. */
    async delete(hash: string, author: Author): Promise<void> {
      await sql`
        WITH ended AS (
          DELETE FROM portal_sessions USING keys JOIN users ON users.id = user_id
          WHERE keys.id = key_id AND portal_sessions.hash = decode(${hash}, 'hex')
          RETURNING keys.workspace_id, key_id, user_id, email)
        SELECT ${emit('logout')}, ${audit('close', author)} FROM ended`;
    },

    /** Deletes the sessions that have ended, and those whose key is revoked. */
    async deleteEnded(now: Date): Promise<void> {
      await sql`
        DELETE FROM portal_sessions USING keys
        WHERE keys.id = key_id AND (portal_sessions.expires_at <= ${now} OR keys.revoked_at IS NOT NULL)`;
    },
  };
}
