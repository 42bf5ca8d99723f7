// What the changes of users and keys have in common: who may make them, and their rows of the audit log, as parts of statements.
// Only operators administer a key with the scope `operator`, a user who holds such a key that is not revoked (also while it
// is disabled or expired, because it can be enabled again), and a key that acts for such a user.

import type { Author } from '../core/author.ts';
import { forbidden } from '../core/errors.ts';
import type { Principal, Scope } from '../core/principal.ts';
import { audited } from '../infra/postgres/audit.ts';
import type { Fragment, Transaction } from '../infra/postgres/client.ts';
import { PREDECESSORS_MAX } from './limits.ts';

/** The caller of an operation, to the rules and to the audit log. */
export type Caller = { principal: Principal; author: Author };

export const isOperator = ({ scopes }: Principal): boolean => scopes.has('operator');

/** Throws 403 where a request concerns a key or a user of an operator, and the caller is not an operator. */
export function refuseUnlessOperator(principal: Principal, concernsOperator: boolean): void {
  if (concernsOperator && !isOperator(principal)) throw operatorsOnly();
}

export const operatorsOnly = () =>
  forbidden(
    'Only operators may give the scope operator, change a key that has it or its user, or make keys that act for that user',
  );

/** In a statement on `users`: whether the user has a key with one of these scopes that is not revoked. */
export const holdsKeyWith = (sql: Transaction, scopes: Scope[]) => sql`EXISTS (
  SELECT FROM keys AS held
  WHERE held.user_id = users.id AND held.revoked_at IS NULL AND held.scopes && ${sql.array(scopes)}::text[])`;

/** Likewise: whether the user is an operator. */
export const holdsOperatorKey = (sql: Transaction) => holdsKeyWith(sql, ['operator']);

/**
 * The predecessors of a key that replaces the selected one: of many the oldest, under which the use is counted, and the latest,
 * which may have been used in this month.
 */
export const lineage = (sql: Transaction) => sql`
  CASE WHEN cardinality(predecessors) < ${PREDECESSORS_MAX}::int THEN predecessors ELSE predecessors[:1] || predecessors[3:] END || id`;

/** A user as the audit log keeps one; the subject where the user has signed in at a provider. */
export const USER_STATE = `jsonb_build_object('email', users.email, 'name', users.name)
  || CASE WHEN users.sign_on_subject IS NULL THEN '{}' ELSE jsonb_build_object('sign_on_subject', users.sign_on_subject) END`;

/** In a statement on `users`: writes the row of the audit log for this change of the user. */
export const auditUser = (
  sql: Transaction,
  author: Author,
  { change, before }: { change: 'create' | 'update' | 'delete'; before?: Fragment },
) =>
  audited(sql, author, {
    action: `access.${change}-user`,
    workspace: sql`users.workspace_id`,
    kind: 'user',
    id: sql`users.id`,
    ...(before === undefined ? {} : { before }),
    ...(change === 'delete' ? {} : { after: sql.unsafe(USER_STATE) }),
  });

/** A key and the e-mail of its user, as the audit log keeps them: neither the key nor its hash. */
export const KEY_STATE = `jsonb_build_object('name', keys.name, 'prefix', prefix, 'scopes', scopes, 'user_email', email,
  'limits', limits, 'disabled', disabled, 'expires_at', expires_at)`;

/** In a statement on `keys` and their users: writes the row of the audit log for this change of the key. `also`: members of `after`. */
export const auditKey = (
  sql: Transaction,
  author: Author,
  {
    change,
    before,
    also,
  }: { change: 'create' | 'update' | 'rotate' | 'revoke'; before?: Fragment | true; also?: Fragment },
) =>
  audited(sql, author, {
    action: `access.${change}-key`,
    workspace: sql`keys.workspace_id`,
    kind: 'key',
    id: sql`keys.id`,
    ...(before === undefined ? {} : { before: before === true ? sql.unsafe(KEY_STATE) : before }),
    ...(change === 'revoke' ? {} : { after: sql`${sql.unsafe(KEY_STATE)} || ${also ?? sql`'{}'::jsonb`}` }),
  });
