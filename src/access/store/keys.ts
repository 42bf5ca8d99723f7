import type { Author } from '../../core/author.ts';
import type { KeyLimits, Scope } from '../../core/principal.ts';
import type { PageRequest } from '../../http/paging.ts';
import type { Fragment, Transaction } from '../../infra/postgres/client.ts';
import { auditKey, auditUser, holdsOperatorKey, KEY_STATE, lineage } from '../changes.ts';

export type Key = {
  id: string;
  name: string;
  prefix: string;
  scopes: Scope[];
  userEmail: string;
  limits: KeyLimits;
  disabled: boolean;
  createdAt: Date;
  expiresAt: Date | null;
  lastUsedAt: Date | null;
};

/** A key with its user, whether that user is an operator, and whether the key is that of single sign-on. */
export type FoundKey = Key & { userId: string; ofOperator: boolean; signOn: boolean };

export type OwnKey = Key & { userId: string; userName: string | null };

/** The parts of a key that rotation replaces; the hash is in hexadecimal. */
export type Secret = { id: string; prefix: string; hash: string; createdAt: Date; expiresAt: Date | null };

export type NewKey = Secret & {
  workspaceId: string;
  name: string;
  scopes: readonly Scope[];
  limits: KeyLimits;
  /** In lower case. The user is created, as `userId`, when no person of the workspace has that e-mail. */
  userEmail: string;
  userId: string;
  emitsUserEvent: boolean;
  author: Author;
};

/** A key that is neither revoked nor disabled; it may have expired. */
export type LiveKey = {
  keyId: string;
  workspaceId: string;
  userId: string;
  email: string;
  scopes: string[];
  limits: KeyLimits;
  /** The keys that it replaces, oldest first. */
  predecessors: string[];
  expiresAt: Date | null;
  lastUsedAt: Date | null;
};

/** The readable names of a key. */
export type KeyDescription = { id: string; name: string; prefix: string; userEmail: string | null };

export type KeyReference = { workspaceId: string; keyId: string };

export type KeyStore = ReturnType<typeof createKeyStore>;

/** The keys table. Revoked keys are kept as a record; a function sees them only where its comment says so. */
export function createKeyStore(sql: Transaction) {
  const columns = sql`
    keys.id, keys.name, prefix, scopes, email AS "userEmail", limits, disabled, keys.created_at AS "createdAt",
    expires_at AS "expiresAt", last_used_at AS "lastUsedAt"`;
  const named = ({ workspaceId, keyId }: KeyReference) =>
    sql`keys.workspace_id = ${workspaceId} AND keys.id = ${keyId} AND revoked_at IS NULL`;
  /**
   * The key as it was, locked until the change, and its user. The user is locked first, as the deletion of a user does it:
   * neither waits for the other crosswise, and the deletion sees the key as the change leaves it.
   */
  const prior = (reference: KeyReference, condition: Fragment = sql`true`) => sql`
    owner AS MATERIALIZED (
      SELECT users.id AS owner_id, email FROM keys JOIN users ON users.id = user_id
      WHERE ${named(reference)} FOR NO KEY UPDATE OF users
    ), prior AS (
      SELECT keys.id AS prior_id, email, ${sql.unsafe(KEY_STATE)} AS was FROM owner JOIN keys ON user_id = owner_id
      WHERE ${named(reference)} AND ${condition} FOR NO KEY UPDATE OF keys)`;

  return {
    async findLive(hash: string): Promise<LiveKey | undefined> {
      const [row] = await sql<LiveKey[]>`
        SELECT keys.id AS "keyId", keys.workspace_id AS "workspaceId", user_id AS "userId", email, scopes, limits, predecessors,
          expires_at AS "expiresAt", last_used_at AS "lastUsedAt"
        FROM keys JOIN users ON users.id = user_id
        WHERE hash = decode(${hash}, 'hex') AND revoked_at IS NULL AND NOT disabled`;
      return row;
    },

    /** The workspace of the key of that hash, revoked or not. */
    async findWorkspace(hash: string): Promise<string | undefined> {
      const [row] = await sql<{ workspaceId: string }[]>`
        SELECT workspace_id AS "workspaceId" FROM keys WHERE hash = decode(${hash}, 'hex')`;
      return row?.workspaceId;
    },

    /** Newest first, one row more than the limit where others follow. */
    list(workspaceId: string, { limit, after }: PageRequest): Promise<Key[]> {
      return sql<Key[]>`
        SELECT ${columns} FROM keys JOIN users ON users.id = user_id
        WHERE keys.workspace_id = ${workspaceId} AND revoked_at IS NULL
          AND ${after === undefined ? sql`true` : sql`(keys.created_at, keys.id) < (${after.createdAt}, ${after.id}::uuid)`}
        ORDER BY keys.created_at DESC, keys.id DESC LIMIT ${limit + 1}`;
    },

    /** Revoked ones, too; `userEmail` is null where the person was deleted. */
    describe(workspaceId: string, ids: readonly string[]): Promise<KeyDescription[]> {
      return sql<KeyDescription[]>`
        SELECT keys.id, keys.name, prefix, email AS "userEmail" FROM keys LEFT JOIN users ON users.id = user_id
        WHERE keys.workspace_id = ${workspaceId} AND keys.id::text = ANY (${sql.array([...ids])}::text[])`;
    },

    /** A valid key, with its user. */
    async findOwn(keyId: string): Promise<OwnKey | undefined> {
      const [row] = await sql<OwnKey[]>`
        SELECT ${columns}, user_id AS "userId", users.name AS "userName"
        FROM keys JOIN users ON users.id = user_id WHERE keys.id = ${keyId} AND revoked_at IS NULL`;
      return row;
    },

    async find(reference: KeyReference): Promise<FoundKey | undefined> {
      const [row] = await sql<FoundKey[]>`
        SELECT ${columns}, user_id AS "userId", ${holdsOperatorKey(sql)} AS "ofOperator", sign_on AS "signOn"
        FROM keys JOIN users ON users.id = user_id WHERE ${named(reference)}`;
      return row;
    },

    /** Whether the workspace's user of that e-mail, in lower case, is an operator; false where there is none. */
    async isOperator(workspaceId: string, email: string): Promise<boolean> {
      const rows = await sql`
        SELECT FROM users WHERE workspace_id = ${workspaceId} AND email = ${email} AND ${holdsOperatorKey(sql)}`;
      return rows.length > 0;
    },

    /**
     * The key together with its owner, who may be a new user; undefined when a key of that hash exists, revoked or not.
     */
    async insert(key: NewKey): Promise<Key | undefined> {
      const [row] = await sql<Key[]>`
        WITH owner AS (
          INSERT INTO users (id, workspace_id, email, created_at)
          VALUES (${key.userId}, ${key.workspaceId}, ${key.userEmail}, ${key.createdAt})
          ON CONFLICT (workspace_id, email) DO UPDATE SET email = excluded.email
          RETURNING id, email, CASE WHEN xmax = 0 AND ${key.emitsUserEvent}::boolean THEN
            usage_tell(workspace_id, 'auth.user.create', email, json_build_object('value', 1, 'provider', 'admin')) END,
            CASE WHEN xmax = 0 THEN ${auditUser(sql, key.author, { change: 'create' })} END
        ), made AS (
          INSERT INTO keys (id, workspace_id, user_id, name, prefix, hash, scopes, limits, expires_at, created_at)
          SELECT ${key.id}::uuid, ${key.workspaceId}, id, ${key.name}, ${key.prefix}, decode(${key.hash}, 'hex'),
            ${sql.array([...key.scopes])}::text[], ${sql.json(key.limits)}::jsonb, ${key.expiresAt}::timestamptz,
            ${key.createdAt}::timestamptz
          FROM owner ON CONFLICT (hash) DO NOTHING RETURNING *
        )
        SELECT ${columns}, ${auditKey(sql, key.author, { change: 'create' })} FROM made AS keys CROSS JOIN owner`;
      return row;
    },

    /**
     * Inserts a key like the old one; the old one is revoked if `endsAt` is now, else it expires then. It is one statement, so
     * that at least one of the two is valid at any time. Each has a row of the audit log, which names the other. Undefined for
     * a key that is absent or was rotated before.
     */
    async rotate(
      reference: KeyReference,
      secret: Secret,
      end: { now: Date; endsAt: Date; author: Author },
    ): Promise<{ key: Key; oldHash: string } | undefined> {
      const atOnce = end.endsAt <= end.now;
      const audit = (before: Fragment, also: Fragment) =>
        auditKey(sql, end.author, { change: 'rotate', before, also });
      const ended = sql`jsonb_build_object('ends_at', coalesce(revoked_at, expires_at), 'replaced_by', ${secret.id}::uuid)`;
      const [row] = await sql<(Key & { oldHash: string })[]>`
        WITH ${prior(reference, sql`replaced_at IS NULL`)}, old AS (
          UPDATE keys SET
            replaced_at = ${end.now},
            revoked_at = ${atOnce ? end.now : null}::timestamptz,
            expires_at = ${atOnce ? sql`expires_at` : sql`least(expires_at, ${end.endsAt}::timestamptz)`}
          FROM prior WHERE keys.id = prior_id RETURNING keys.*, email,
            ${audit(sql`was`, ended)}
        ), made AS (
          INSERT INTO keys
            (id, workspace_id, user_id, name, prefix, hash, scopes, limits, disabled, predecessors, expires_at, created_at)
          SELECT ${secret.id}::uuid, workspace_id, user_id, name, ${secret.prefix}, decode(${secret.hash}, 'hex'),
            scopes, limits, disabled, ${lineage(sql)}, ${secret.expiresAt}::timestamptz, ${secret.createdAt}::timestamptz
          FROM old RETURNING *
        )
        SELECT ${columns}, (SELECT encode(hash, 'hex') FROM old) AS "oldHash",
          ${audit(sql`NULL`, sql`jsonb_build_object('replaces', ${reference.keyId}::uuid)`)}
        FROM made AS keys CROSS JOIN (SELECT email FROM old) AS owner`;
      if (row === undefined) return undefined;
      const { oldHash, ...key } = row;
      return { key, oldHash };
    },

    /** Sets the given fields, and returns the changed key with its hash. */
    async update(
      reference: KeyReference,
      { name, disabled }: { name?: string; disabled?: boolean },
      author: Author,
    ): Promise<{ key: Key; hash: string } | undefined> {
      const [row] = await sql<(Key & { hash: string })[]>`
        WITH ${prior(reference)}
        UPDATE keys SET
          name = ${name === undefined ? sql`keys.name` : name},
          disabled = ${disabled === undefined ? sql`disabled` : disabled}
        FROM prior WHERE keys.id = prior_id
        RETURNING ${columns}, encode(hash, 'hex') AS hash,
          ${auditKey(sql, author, { change: 'update', before: sql`was` })}`;
      if (row === undefined) return undefined;
      const { hash, ...key } = row;
      return { key, hash };
    },

    /** Revokes the key and returns its hash; undefined when there is none to revoke. */
    async revoke(reference: KeyReference, now: Date, author: Author): Promise<string | undefined> {
      const [row] = await sql<{ hash: string }[]>`
        WITH ${prior(reference)}
        UPDATE keys SET revoked_at = ${now} FROM prior WHERE keys.id = prior_id
        RETURNING encode(hash, 'hex') AS hash, ${auditKey(sql, author, { change: 'revoke', before: sql`was` })}`;
      return row?.hash;
    },

    /**
     * Writes last uses, unless the stored one is later, or less than `intervalMs` older. Rows that are locked by another
     * transaction are skipped, because the next use writes them.
     */
    async recordUses(uses: readonly { keyId: string; usedAt: Date }[], intervalMs: number): Promise<void> {
      await sql`
        WITH used AS (
          SELECT id, max(at) AS at
          FROM unnest(${uses.map((use) => use.keyId)}::uuid[], ${uses.map((use) => use.usedAt.toISOString())}::timestamptz[])
            AS use (id, at)
          GROUP BY id
        ), due AS (
          SELECT id, at FROM keys JOIN used USING (id)
          WHERE last_used_at IS NULL OR last_used_at <= at - ${intervalMs} * interval '1 millisecond'
          ORDER BY id FOR NO KEY UPDATE OF keys SKIP LOCKED
        )
        UPDATE keys SET last_used_at = due.at FROM due WHERE keys.id = due.id`;
    },
  };
}
