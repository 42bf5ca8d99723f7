import type { Planted } from '../mistake.ts';

const FLOW = { test: 'test/access/sign-on.test.ts' };
const REFUSALS = { test: 'test/access/sign-on-refusals.test.ts' };
const MISTAKES = { test: 'test/access/sign-on-mistakes.test.ts' };

export const signOn: readonly Planted[] = [
  {
    ...REFUSALS,
    mistake: 'a callback opens a session in a browser that has not left for the provider',
    file: 'src/access/sign-on/flight.ts',
    text: 'if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;',
    replacement: 'if (given.length !== expected.length && timingSafeEqual(given, given)) return undefined;',
    name: 'a callback opens a session once, and only in the browser that has left for the provider',
  },
  {
    ...MISTAKES,
    mistake: 'the signature of an ID token is not verified',
    file: 'src/access/sign-on/provider.ts',
    text: 'library.enableNonRepudiationChecks(configuration);',
    replacement: '',
    name: 'of the ID tokens of a fake only the right one is accepted',
  },
  {
    ...FLOW,
    mistake: 'a right that the provider takes away stays until the session ends',
    file: 'src/access/store/sign-on.ts',
    text: `UPDATE keys SET scopes = \${granted}, limits`,
    replacement: 'UPDATE keys SET scopes = scopes, limits',
    name: 'rights that are taken away at the provider end at the next sign-in',
  },
  {
    ...FLOW,
    mistake: 'the next owner of an e-mail address becomes the person who had it before',
    file: 'src/access/store/sign-on.ts',
    text: `email = \${email} AND sign_on_subject IS NULL`,
    replacement: `email = \${email}`,
    name: 'nobody inherits one with an address',
  },
  {
    ...REFUSALS,
    mistake: 'an e-mail address counts that the provider has not verified',
    file: 'src/access/sign-on/person.ts',
    text: "const isVerified = verified === true || verified === 'true' ||",
    replacement: 'const isVerified = verified !== false ||',
    name: 'gets a page that says what to do, and nothing is made of them',
  },
  {
    ...REFUSALS,
    mistake: 'a person who is barred enters again after a sign-in without rights',
    file: 'src/access/store/sign-on.ts',
    text: 'AND NOT disabled AND NOT (',
    replacement: 'AND NOT (',
    name: 'bars the person while it is disabled',
  },
];
