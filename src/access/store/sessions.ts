import type { Transaction } from '../../infra/postgres/client.ts';

export type PortalSession = { keyHash: string; expiresAt: Date };

export type SessionStore = ReturnType<typeof createSessionStore>;

/** The portal_sessions table. A session is known by the hash of its cookie's value, in hexadecimal. */
export function createSessionStore(sql: Transaction) {
  const tell = (what: 'login' | 'logout') => sql`
    usage_tell(workspace_id, ${`auth.user.${what}`}, email, json_build_object('value', 1, 'provider', 'key'))`;
  return {
    /** With the event of the sign-in; false where the key's person is gone. */
    async insert(session: {
      hash: string;
      keyId: string;
      expiresAt: Date;
      createdAt: Date;
    }): Promise<boolean> {
      const rows = await sql`
        WITH person AS (
          SELECT keys.id, keys.workspace_id, email FROM keys JOIN users ON users.id = user_id
          WHERE keys.id = ${session.keyId}),
        opened AS (
          INSERT INTO portal_sessions (hash, key_id, expires_at, created_at)
          SELECT decode(${session.hash}, 'hex'), id, ${session.expiresAt}::timestamptz, ${session.createdAt}::timestamptz
          FROM person)
        SELECT ${tell('login')} FROM person`;
      return rows.length > 0;
    },

    /** The session, over or not, with the hash of the key that opened it. */
    async find(hash: string): Promise<PortalSession | undefined> {
      const [row] = await sql<PortalSession[]>`
        SELECT encode(keys.hash, 'hex') AS "keyHash", portal_sessions.expires_at AS "expiresAt"
        FROM portal_sessions JOIN keys ON keys.id = key_id
        WHERE portal_sessions.hash = decode(${hash}, 'hex')`;
      return row;
    },

    /** With the event of the sign-out, where there is such a session. */
    async delete(hash: string): Promise<void> {
      await sql`
        WITH ended AS (
          DELETE FROM portal_sessions USING keys JOIN users ON users.id = user_id
          WHERE keys.id = key_id AND portal_sessions.hash = decode(${hash}, 'hex')
          RETURNING keys.workspace_id, email)
        SELECT ${tell('logout')} FROM ended`;
    },

    /** Removes the sessions that are over, and those whose key is revoked. */
    async deleteEnded(now: Date): Promise<void> {
      await sql`
        DELETE FROM portal_sessions USING keys
        WHERE keys.id = key_id AND (portal_sessions.expires_at <= ${now} OR keys.revoked_at IS NOT NULL)`;
    },
  };
}
