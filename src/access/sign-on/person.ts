import { isEmail, toEmailKey } from '../../core/email.ts';
import { isStorableText } from '../../core/json.ts';
import { PERSON_NAME_LENGTH_MAX, SUBJECT_LENGTH_MAX } from '../limits.ts';
import { SignOnProblem } from './problems.ts';
import type { Claims } from './roles.ts';

/** A person as the provider identifies them: the subject never changes, the e-mail address may. */
export type Person = {
  issuer: string;
  subject: string;
  /** Verified; as `toEmailKey` makes it. */
  email: string;
  name: string | null;
};

/**
 * The person of these claims. Throws SignOnProblem where there is no e-mail address, or where the provider does not say that
 * it has verified it. `emailTrusted`: it verifies every address, without saying so.
 */
export function toPerson(
  { issuer, emailTrusted }: { issuer: string; emailTrusted: boolean },
  claims: Claims,
): Person {
  const { sub, email, email_verified: verified, name } = claims;
  if (!isText(sub) || sub.length > SUBJECT_LENGTH_MAX) throw new SignOnProblem('untrusted');
  const isVerified = verified === true || verified === 'true' || (emailTrusted && verified === undefined);
  if (!isText(email) || !isEmail(email) || !isVerified) throw new SignOnProblem('no-email');
  return {
    issuer,
    subject: sub,
    email: toEmailKey(email),
    name: isText(name) ? name.slice(0, PERSON_NAME_LENGTH_MAX).toWellFormed() : null,
  };
}

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && isStorableText(value);
