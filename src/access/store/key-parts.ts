// Parts of statements about keys that several stores use.

import type { Scope } from '../../core/principal.ts';
import type { Transaction } from '../../infra/postgres/client.ts';
import { PREDECESSORS_MAX } from '../limits.ts';

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
