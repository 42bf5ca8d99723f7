// Only operators administer a key with the scope `operator`, a user who holds such a key that is not revoked (also while it
// is disabled or expired, because it can be enabled again), and a key that acts for such a user.

import type { Author } from '../core/author.ts';
import { forbidden } from '../core/errors.ts';
import type { Principal } from '../core/principal.ts';

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
