import type { Author } from '../../core/author.ts';
import { codeOf } from '../../core/errors.ts';
import type { PageRequest } from '../../http/paging.ts';
import type { Sql, Transaction } from '../../infra/postgres/client.ts';
import { auditKey, auditUser, holdsOperatorKey, USER_STATE } from '../changes.ts';

export type User = { id: string; email: string; name: string | null; createdAt: Date };

/** Fields that a patch may set; an absent one stays as it is. */
export type UserChanges = { email?: string; name?: string | null };

export type UserReference = { workspaceId: string; userId: string };

/** `spareOperators`: a user who is an operator is not changed; the result is then 'operator'. */
type Change = { author: Author; spareOperators: boolean };

export type UserStore = ReturnType<typeof createUserStore>;

/** The users table. E-mails are given in lower case. */
export function createUserStore(sql: Sql) {
  const columns = sql`id, email, name, created_at AS "createdAt"`;
  const hashesOfKeys = sql`ARRAY(
    SELECT encode(hash, 'hex') FROM keys WHERE user_id = users.id AND revoked_at IS NULL) AS "keyHashes"`;

  /** Stands in the RETURNING clause of a change, so that its event is committed with it. */
  const emit = (type: 'create' | 'update' | 'delete') => sql`
    usage_tell(workspace_id, ${`auth.user.${type}`}, email, json_build_object('value', 1, 'provider', 'admin')) AS emitted`;

  /** The lock keeps the user from becoming an operator before the change, because the creation of a key locks its user, too. */
  const changeLocked = <T>(
    { workspaceId, userId }: UserReference,
    spareOperators: boolean,
    change: (tx: Transaction) => Promise<T>,
  ): Promise<T | 'operator' | undefined> =>
    sql.begin(async (tx) => {
      const user = tx`workspace_id = ${workspaceId} AND id = ${userId}`;
      await tx`SELECT FROM users WHERE ${user} FOR NO KEY UPDATE`;
      if (!spareOperators) return change(tx);
      // A separate statement, so that its snapshot has the key whose creation the lock has waited for.
      const [found] = await tx<{ spared: boolean }[]>`
        SELECT ${holdsOperatorKey(tx)} AS spared FROM users WHERE ${user}`;
      return found?.spared === true ? 'operator' : change(tx);
    });

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
    async insert(
      workspaceId: string,
      { id, email, name, createdAt }: User,
      author: Author,
    ): Promise<User | undefined> {
      const [row] = await sql<User[]>`
        INSERT INTO users (id, workspace_id, email, name, created_at)
        VALUES (${id}, ${workspaceId}, ${email}, ${name}, ${createdAt})
        ON CONFLICT (workspace_id, email) DO NOTHING
        RETURNING ${columns}, ${emit('create')}, ${auditUser(sql, author, { change: 'create' })}`;
      return row;
    },

    /** The changed user, with the hashes of its keys. Undefined when there is no such user. */
    async update(
      reference: UserReference,
      { email, name }: UserChanges,
      { author, spareOperators }: Change,
    ): Promise<{ user: User; keyHashes: string[] } | 'email taken' | 'operator' | undefined> {
      const change = async (tx: Transaction) => {
        const [row] = await tx<(User & { keyHashes: string[] })[]>`
          WITH prior AS (
            SELECT id AS prior_id, ${tx.unsafe(USER_STATE)} AS was FROM users
            WHERE workspace_id = ${reference.workspaceId} AND id = ${reference.userId} FOR NO KEY UPDATE)
          UPDATE users SET
            email = ${email === undefined ? tx`email` : email},
            name = ${name === undefined ? tx`name` : name}
          FROM prior WHERE id = prior_id
          RETURNING ${columns}, ${hashesOfKeys}, ${emit('update')},
            ${auditUser(tx, author, { change: 'update', before: tx`was` })}`;
        if (row === undefined) return undefined;
        const { keyHashes, ...user } = row;
        return { user, keyHashes };
      };
      try {
        return await (spareOperators ? changeLocked(reference, true, change) : change(sql));
      } catch (error) {
        if (isUniqueViolation(error)) return 'email taken';
        throw error;
      }
    },

    /**
     * Deletes the user, and returns the hashes of the keys that this revokes; undefined when there is no such user. The lock comes
     * first, so that the audit log has each of the keys.
     */
    async delete(
      reference: UserReference,
      { author, spareOperators }: Change,
    ): Promise<{ keyHashes: string[] } | 'operator' | undefined> {
      const change = async (tx: Transaction) => {
        const [row] = await tx<{ keyHashes: string[] }[]>`
          DELETE FROM users WHERE workspace_id = ${reference.workspaceId} AND id = ${reference.userId}
          RETURNING ${hashesOfKeys}, ${emit('delete')},
            ${auditUser(tx, author, { change: 'delete', before: tx.unsafe(USER_STATE) })},
            ARRAY(SELECT ${auditKey(tx, author, { change: 'revoke', before: true })} FROM keys
              WHERE keys.user_id = users.id AND revoked_at IS NULL)`;
        return row;
      };
      return changeLocked(reference, spareOperators, change);
    },
  };
}

/** PostgreSQL's unique_violation (manual, appendix A). */
const isUniqueViolation = (error: unknown): boolean => codeOf(error) === '23505';
