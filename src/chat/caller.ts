import { isAdmin, type Principal } from '../core/principal.ts';
import type { TurnCaller } from './turn.ts';

/** Which conversations a caller reaches: those of their own keys; administrators every one of the workspace. */
export type Reach = { userId: string; admin: boolean };

export const toReach = (principal: Pick<Principal, 'userId' | 'scopes'>): Reach => ({
  userId: principal.userId,
  admin: isAdmin(principal),
});

/** Conversations of bots belong to nobody's keys. */
export const BOTS: Reach = { userId: '', admin: false };

/** Whose limits and account a question is for, and whose documents: without the scope for these nobody's. */
export const toCaller = ({
  email,
  keyId,
  limits,
  scopes,
}: Pick<Principal, 'email' | 'keyId' | 'limits' | 'scopes'>): TurnCaller => ({
  ...{ email, keyId, limits },
  readsAs: scopes.has('documents:read') ? email : null,
});
