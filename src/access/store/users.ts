import type { PageRequest } from '../../http/paging.ts';
import type { Transaction } from '../../infra/postgres/client.ts';

export type User = { id: string; email: string; name: string | null; createdAt: Date };

/** Fields that a patch may set; an absent one stays as it is. */
export type UserChanges = { email?: string; name?: string | null };

/** Which user of which workspace. */
export type UserReference = { workspaceId: string; userId: string };

export type UserStore = ReturnType<typeof createUserStore>;

/** The users table. E-mails are given in lower case. */
export function createUserStore(sql: Transaction) {
  const columns = sql`id, email, name, created_at AS "createdAt"`;
  const hashesOfKeys = sql`ARRAY(
    SELECT encode(hash, 'hex') FROM keys WHERE user_id = users.id AND revoked_at IS NULL) AS "keyHashes"`;
  return {
    /** Newest first, one row more than the limit where others follow. */
    list(workspaceId: string, { limit, after }: PageRequest): Promise<User[]> {
      return sql<User[]>`
        SELECT ${columns} FROM users
        WHERE workspace_id = ${workspaceId}
          AND ${after === undefined ? sql`true` : sql`(created_at, id) < (${after.createdAt}, ${after.id}::uuid)`}
        ORDER BY created_at DESC, id DESC LIMIT ${limit + 1}`;
    },

    async find({ workspaceId, userId }: UserReference): Promise<User | undefined> {
      const [row] = await sql<User[]>`
        SELECT ${columns} FROM users WHERE workspace_id = ${workspaceId} AND id = ${userId}`;
      return row;
    },

    async findByEmail(workspaceId: string, email: string): Promise<User | undefined> {
      const [row] = await sql<User[]>`
        SELECT ${columns} FROM users WHERE workspace_id = ${workspaceId} AND email = ${email}`;
      return row;
    },

    /** Undefined when the e-mail is taken. */
    async insert(workspaceId: string, { id, email, name, createdAt }: User): Promise<User | undefined> {
      const [row] = await sql<User[]>`
        INSERT INTO users (id, workspace_id, email, name, created_at)
        VALUES (${id}, ${workspaceId}, ${email}, ${name}, ${createdAt})
        ON CONFLICT (workspace_id, email) DO NOTHING RETURNING ${columns}`;
      return row;
    },

    /** The user as changed, with the hashes of the keys that act for them. Undefined when there is no such user. */
    async update(
      { workspaceId, userId }: UserReference,
      { email, name }: UserChanges,
    ): Promise<{ user: User; keyHashes: string[] } | 'email taken' | undefined> {
      try {
        const [row] = await sql<(User & { keyHashes: string[] })[]>`
          UPDATE users SET
            email = ${email === undefined ? sql`email` : email},
            name = ${name === undefined ? sql`name` : name}
          WHERE workspace_id = ${workspaceId} AND id = ${userId}
          RETURNING ${columns}, ${hashesOfKeys}`;
        if (row === undefined) return undefined;
        const { keyHashes, ...user } = row;
        return { user, keyHashes };
      } catch (error) {
        if (isUniqueViolation(error)) return 'email taken';
        throw error;
      }
    },

    /** Whom it deleted, with the hashes of the keys that this has revoked; undefined when there is no such user. */
    async delete({
      workspaceId,
      userId,
    }: UserReference): Promise<{ email: string; keyHashes: string[] } | undefined> {
      const [row] = await sql<{ email: string; keyHashes: string[] }[]>`
        DELETE FROM users WHERE workspace_id = ${workspaceId} AND id = ${userId} RETURNING email, ${hashesOfKeys}`;
      return row;
    },
  };
}

/** PostgreSQL's error 23505 (manual, appendix A). */
const isUniqueViolation = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '23505';
