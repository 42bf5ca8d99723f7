import type { Principal } from '../core/principal.ts';
import type { TurnCaller } from './turn.ts';

/** Whose limits and account a question is for. */
export const toCaller = ({
  email,
  keyId,
  limits,
}: Pick<Principal, 'email' | 'keyId' | 'limits'>): TurnCaller => ({ email, keyId, limits });
