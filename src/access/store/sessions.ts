import type { Transaction } from '../../infra/postgres/client.ts';

export type PortalSession = { keyHash: string; expiresAt: Date };

export type SessionStore = ReturnType<typeof createSessionStore>;

/** The portal_sessions table. A session is known by the hash of its cookie's value, in hexadecimal. */
export function createSessionStore(sql: Transaction) {
  return {
    async insert(session: { hash: string; keyId: string; expiresAt: Date; createdAt: Date }): Promise<void> {
      await sql`
        INSERT INTO portal_sessions (hash, key_id, expires_at, created_at)
        VALUES (decode(${session.hash}, 'hex'), ${session.keyId}, ${session.expiresAt}, ${session.createdAt})`;
    },

    /** The session, over or not, with the hash of the key that opened it. */
    async find(hash: string): Promise<PortalSession | undefined> {
      const [row] = await sql<PortalSession[]>`
        SELECT encode(keys.hash, 'hex') AS "keyHash", portal_sessions.expires_at AS "expiresAt"
        FROM portal_sessions JOIN keys ON keys.id = key_id
        WHERE portal_sessions.hash = decode(${hash}, 'hex')`;
      return row;
    },

    /** Whose session it was; undefined when there is none. */
    async delete(hash: string): Promise<{ workspaceId: string; email: string } | undefined> {
      const [row] = await sql<{ workspaceId: string; email: string }[]>`
        DELETE FROM portal_sessions USING keys JOIN users ON users.id = user_id
        WHERE keys.id = key_id AND portal_sessions.hash = decode(${hash}, 'hex')
        RETURNING keys.workspace_id AS "workspaceId", email`;
      return row;
    },

    /** Removes the sessions that are over, and those whose key is revoked. */
    async deleteEnded(now: Date): Promise<void> {
      await sql`
        DELETE FROM portal_sessions USING keys
        WHERE keys.id = key_id AND (portal_sessions.expires_at <= ${now} OR keys.revoked_at IS NOT NULL)`;
    },
  };
}
