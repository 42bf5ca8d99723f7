// Rows of the audit log about workspaces' users and keys, as parts of the statements that change them.

import type { Author } from '../../core/author.ts';
import { audited } from '../../infra/postgres/audit.ts';
import type { Fragment, Transaction } from '../../infra/postgres/client.ts';

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
