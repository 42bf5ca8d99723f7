import { isAdmin, type Principal } from '../core/principal.ts';
import type { TurnCaller } from './turn.ts';

/** Which conversations a caller reaches: those of their own keys; administrators every one of the workspace. */
export type Reach = { userId: string; admin: boolean };

export const toReach = (principal: Pick<Principal, 'userId' | 'scopes'>): Reach => ({
  userId: principal.userId,
  admin: isAdmin(principal),
});

/** Reaches the conversations of bots, which have no owner: no key reaches them but an administrator's. */
export const BOTS: Reach = { userId: '', admin: false };

/** The key whose limits and account a question counts for, and the person whose documents it may use, if any. */
export const toCaller = ({
  email,
  keyId,
  limits,
  scopes,
}: Pick<Principal, 'email' | 'keyId' | 'limits' | 'scopes'>): TurnCaller => ({
  ...{ email, keyId, limits },
  readsAs: scopes.has('documents:read') ? email : null,
});
