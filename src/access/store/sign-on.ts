import type { Author } from '../../core/author.ts';
import type { KeyLimits, Scope } from '../../core/principal.ts';
import type { Fragment, Sql, Transaction } from '../../infra/postgres/client.ts';
import { auditKey, auditUser, holdsKeyWith, KEY_STATE, lineage, USER_STATE } from '../changes.ts';
import { createSessionStore, type NewSession } from './sessions.ts';

/** A workspace that the claims open, with the rights and limits there; scopes are sorted. */
type Grant = { workspace: string; scopes: readonly Scope[]; limits: KeyLimits };

/** A sign-in at the provider: who, what the claims grant, and the session that is to begin. */
export type SignOn = {
  person: { issuer: string; subject: string; email: string; name: string | null };
  /** In the order in which the person enters them. */
  grants: readonly Grant[];
  session: NewSession;
  /** For a person, or a key, that is new. */
  ids: { userId: string; keyId: string; keyHash: string; keyPrefix: string };
  author: Author;
};

export type SignOnOutcome = 'opened' | 'no-access' | 'disabled' | 'other-person';

export type SignOnStore = ReturnType<typeof createSignOnStore>;

/**
 * Persons who sign in at a provider. In each workspace that they have entered they have one key, whose text does not exist: it
 * has the rights of their sessions, which end with it.
 */
export function createSignOnStore(sql: Sql) {
  return {
    /**
     * Makes the rights of the person those of the claims in every workspace, and opens the session in the first that
     * exists. `changedKeys`: the hashes of keys that have changed, for caches.
     */
    signIn: (signOn: SignOn): Promise<{ outcome: SignOnOutcome; changedKeys: string[] }> =>
      sql.begin(async (tx) => {
        const { issuer, subject } = signOn.person;
        // One sign-in of a person after the other: the first of two creates what the second finds.
        await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`${issuer} ${subject}`}, 0))`;
        await tx`
          SELECT FROM users WHERE sign_on_subject = ${subject} AND sign_on_issuer = ${issuer}
          ORDER BY id FOR NO KEY UPDATE`;
        const changedKeys = await applyGrants(tx, signOn);
        return { outcome: await enter(tx, signOn, changedKeys), changedKeys };
      }),
  };
}

/** Changes and revokes the keys of the person as the claims say. A disabled one stays, so that it goes on to bar the person. */
async function applyGrants(tx: Transaction, { person, grants, author, session }: SignOn): Promise<string[]> {
  const held = tx`
    keys.user_id = users.id AND keys.sign_on AND revoked_at IS NULL
    AND users.sign_on_subject = ${person.subject} AND users.sign_on_issuer = ${person.issuer}`;
  const revoked = await tx<{ hash: string }[]>`
    UPDATE keys SET revoked_at = ${session.createdAt} FROM users
    WHERE ${held} AND NOT disabled AND NOT (keys.workspace_id = ANY (${tx.array(grants.map(({ workspace }) => workspace))}::text[]))
    RETURNING encode(hash, 'hex') AS hash, ${auditKey(tx, author, { change: 'revoke', before: true })}`;
  const changed: string[] = revoked.map(({ hash }) => hash);
  for (const { workspace, scopes, limits } of grants) {
    const granted = tx`${tx.array([...scopes])}::text[]`;
    const limited = tx`${tx.json(limits)}::jsonb`;
    const rows = await tx<{ hash: string }[]>`
      WITH prior AS (
        SELECT keys.id AS prior_id, email, ${tx.unsafe(KEY_STATE)} AS was FROM keys, users
        WHERE ${held} AND keys.workspace_id = ${workspace} AND (scopes <> ${granted} OR limits <> ${limited}) FOR NO KEY UPDATE OF keys)
      UPDATE keys SET scopes = ${granted}, limits = ${limited} FROM prior WHERE keys.id = prior_id
      RETURNING encode(hash, 'hex') AS hash, ${auditKey(tx, author, { change: 'update', before: tx`was` })}`;
    changed.push(...rows.map(({ hash }) => hash));
  }
  return changed;
}

async function enter(tx: Transaction, signOn: SignOn, changedKeys: string[]): Promise<SignOnOutcome> {
  const { grants, session, author } = signOn;
  const names = grants.map(({ workspace }) => workspace);
  const existing = await tx<{ id: string }[]>`
    SELECT id FROM workspaces WHERE id = ANY (${tx.array(names)}::text[]) ORDER BY array_position(${tx.array(names)}::text[], id)`;
  const grant = grants.find(({ workspace }) => workspace === existing[0]?.id);
  if (grant === undefined) return 'no-access';
  const userId =
    (await findPerson(tx, signOn, grant.workspace)) ?? (await createPerson(tx, signOn, grant.workspace));
  if (userId === undefined) return 'other-person';
  const key = await findKey(tx, signOn, userId);
  if (key?.disabled) return 'disabled';
  if (key !== undefined) changedKeys.push(key.hash);
  const keyId = key?.id ?? (await createKey(tx, signOn, { userId, ...grant }));
  const workspaces = existing.map(({ id }) => id);
  await createSessionStore(tx).insert({ ...session, keyId, provider: 'oidc', workspaces }, author);
  return 'opened';
}

const emit = (tx: Transaction, type: 'create' | 'update') =>
  tx`usage_tell(workspace_id, ${`auth.user.${type}`}, email, json_build_object('value', 1, 'provider', 'oidc'))`;

/**
 * Whether the user has a key with which others are administered. A claim of the provider makes nobody such a user, nor changes their
 * address. The lock keeps the user from getting such a key before the change, because the creation of a key locks its user, too.
 */
async function isPrivileged(tx: Transaction, user: Fragment): Promise<boolean> {
  await tx`SELECT FROM users WHERE ${user} FOR NO KEY UPDATE`;
  // A separate statement, so that its snapshot has the key whose creation the lock has waited for.
  const [found] = await tx<{ held: boolean }[]>`
    SELECT ${holdsKeyWith(tx, ['admin', 'operator'])} AS held FROM users WHERE ${user}`;
  return found?.held === true;
}

/**
 * The person of the workspace with this subject, whose e-mail address becomes that of the claims unless another person has it;
 * else the person with this address who has not signed in at a provider yet, and whose subject it becomes. Neither changes a
 * privileged user.
 */
async function findPerson(
  tx: Transaction,
  { person, author }: SignOn,
  workspace: string,
): Promise<string | undefined> {
  const { issuer, subject, email } = person;
  const [known] = await tx<{ id: string; email: string }[]>`
    SELECT id, email FROM users
    WHERE workspace_id = ${workspace} AND sign_on_subject = ${subject} AND sign_on_issuer = ${issuer}`;
  if (known?.email === email) return known.id;
  const chosen =
    known === undefined
      ? tx`workspace_id = ${workspace} AND email = ${email} AND sign_on_subject IS NULL`
      : tx`id = ${known.id}`;
  if (await isPrivileged(tx, chosen)) return known?.id;
  const prior = tx`
    WITH prior AS (SELECT id AS prior_id, ${tx.unsafe(USER_STATE)} AS was FROM users WHERE ${chosen})`;
  const audit = auditUser(tx, author, { change: 'update', before: tx`was` });
  if (known !== undefined) {
    await tx`
      ${prior}
      UPDATE users SET email = ${email} FROM prior
      WHERE id = prior_id AND NOT EXISTS (
        SELECT FROM users AS other WHERE other.workspace_id = ${workspace} AND other.email = ${email})
      RETURNING ${emit(tx, 'update')}, ${audit}`;
    return known.id;
  }
  const [linked] = await tx<{ id: string }[]>`
    ${prior}
    UPDATE users SET sign_on_subject = ${subject}, sign_on_issuer = ${issuer} FROM prior WHERE id = prior_id
    RETURNING id, ${emit(tx, 'update')}, ${audit}`;
  return linked?.id;
}

/** Undefined where another person has the e-mail address. */
async function createPerson(
  tx: Transaction,
  { person, ids, session, author }: SignOn,
  workspace: string,
): Promise<string | undefined> {
  const [row] = await tx<{ id: string }[]>`
    INSERT INTO users (id, workspace_id, email, name, created_at, sign_on_subject, sign_on_issuer)
    VALUES (${ids.userId}, ${workspace}, ${person.email}, ${person.name}, ${session.createdAt}, ${person.subject}, ${person.issuer})
    ON CONFLICT (workspace_id, email) DO NOTHING
    RETURNING id, ${emit(tx, 'create')}, ${auditUser(tx, author, { change: 'create' })}`;
  return row?.id;
}

/** The person's key, which lasts at least as long as the new session. */
async function findKey(tx: Transaction, { session }: SignOn, userId: string) {
  const [key] = await tx<{ id: string; hash: string; disabled: boolean }[]>`
    UPDATE keys SET expires_at = greatest(expires_at, ${session.expiresAt}::timestamptz)
    WHERE user_id = ${userId} AND sign_on AND revoked_at IS NULL
    RETURNING id, encode(hash, 'hex') AS hash, disabled`;
  return key;
}

async function createKey(
  tx: Transaction,
  { ids, session, author }: SignOn,
  { userId, workspace, scopes, limits }: Grant & { userId: string },
): Promise<string> {
  await tx`
    WITH made AS (
      INSERT INTO keys (id, workspace_id, user_id, name, prefix, hash, scopes, limits, sign_on, predecessors, expires_at, created_at)
      VALUES (${ids.keyId}, ${workspace}, ${userId}, 'Single sign-on', ${ids.keyPrefix}, decode(${ids.keyHash}, 'hex'),
        ${tx.array([...scopes])}::text[], ${tx.json(limits)}::jsonb, true,
        coalesce((SELECT ${lineage(tx)} FROM keys WHERE user_id = ${userId} AND sign_on ORDER BY created_at DESC, id DESC LIMIT 1), '{}'),
        ${session.expiresAt}, ${session.createdAt})
      RETURNING *)
    SELECT ${auditKey(tx, author, { change: 'create' })} FROM made AS keys
    CROSS JOIN (SELECT email FROM users WHERE id = ${userId}) AS owner`;
  return ids.keyId;
}
