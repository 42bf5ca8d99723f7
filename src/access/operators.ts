// What is an operator's: a key with the scope `operator`, the user who holds one that is not revoked (also while it is
// disabled or expired, since it can be made good again), and a key that acts in such a user's name.

import { forbidden } from '../core/errors.ts';
import type { Principal } from '../core/principal.ts';

export const isOperator = ({ scopes }: Principal): boolean => scopes.has('operator');

/** Throws 403 where a request concerns a key or a user of an operator, and the caller is not an operator. */
export function refuseUnlessOperator(principal: Principal, concernsOperator: boolean): void {
  if (concernsOperator && !isOperator(principal)) throw operatorsOnly();
}

export const operatorsOnly = () =>
  forbidden(
    'Only operators may give the scope operator, change a key that has it or its user, or make keys that act for that user',
  );
