import { isStorableText } from '../../core/json.ts';
import { EMAIL_LENGTH_MAX, PERSON_NAME_LENGTH_MAX, SUBJECT_LENGTH_MAX } from '../limits.ts';
import { SignOnProblem } from './problems.ts';
import type { Claims } from './roles.ts';

/** A person as the provider identifies them: the subject never changes, the e-mail address may. */
export type Person = {
  issuer: string;
  subject: string;
  /** In lower case. */
  email: string;
  name: string | null;
};

/**
 * The person of these claims. Throws SignOnProblem where there is no e-mail address, or one that the provider says it has
 * not verified. Providers that verify every address leave `email_verified` out.
 */
export function toPerson(issuer: string, claims: Claims): Person {
  const { sub, email, email_verified: verified, name } = claims;
  if (!isText(sub) || sub.length > SUBJECT_LENGTH_MAX) throw new SignOnProblem('untrusted');
  const isAddress = isText(email) && email.length <= EMAIL_LENGTH_MAX && /^[^\s@]+@[^\s@]+$/u.test(email);
  if (!isAddress || verified === false || verified === 'false') throw new SignOnProblem('no-email');
  return {
    issuer,
    subject: sub,
    email: email.toLowerCase(),
    name: isText(name) ? name.slice(0, PERSON_NAME_LENGTH_MAX).toWellFormed() : null,
  };
}

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && isStorableText(value);
