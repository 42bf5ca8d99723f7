import type { Planted } from '../mistake.ts';

export const bots: readonly Planted[] = [
  {
    mistake: 'key sets are remembered without end',
    file: 'src/bots/key-sets.ts',
    text: '<string, Remote>({ max })',
    replacement: '<string, Remote>({ max: max * 9 })',
    test: 'test/bots/key-sets.test.ts',
    name: 'only so many key sets',
  },
  {
    mistake: 'one key set less is remembered than is said',
    file: 'src/bots/key-sets.ts',
    text: '<string, Remote>({ max })',
    replacement: '<string, Remote>({ max: max - 1 })',
    test: 'test/bots/key-sets.test.ts',
    name: 'only so many key sets',
  },
  {
    mistake: 'a bot believes tokens of every issuer',
    file: 'src/bots/verify.ts',
    text: '      issuer: ISSUERS[mode],\n',
    replacement: '',
    test: 'test/acceptance/bots/verification.test.ts',
  },
  {
    mistake: 'a bot believes tokens for another audience',
    file: 'src/bots/verify.ts',
    text: '      audience,\n      requiredClaims',
    replacement: '      requiredClaims',
    test: 'test/acceptance/bots/verification.test.ts',
  },
  {
    mistake: 'a bot believes tokens of every account',
    file: 'src/bots/verify.ts',
    text: 'email !== account || verified !== true',
    replacement: 'verified !== true',
    test: 'test/acceptance/bots/verification.test.ts',
  },
  {
    mistake: 'a bot believes e-mails that nobody has verified',
    file: 'src/bots/verify.ts',
    text: 'email !== account || verified !== true',
    replacement: 'email !== account',
    test: 'test/acceptance/bots/verification.test.ts',
  },
  {
    mistake: 'a bot believes tokens that have just expired',
    file: 'src/bots/verify.ts',
    text: 'exp === undefined || exp <= nowSeconds',
    replacement: 'exp === undefined',
    test: 'test/acceptance/bots/verification.test.ts',
  },
  {
    mistake: 'private addresses are taken for public ones',
    file: 'src/bots/public-address.ts',
    text: "  if (address.range() !== 'unicast') return false;\n",
    replacement: '',
    test: 'test/bots/fetch-key-set.test.ts',
  },
  {
    mistake: 'add-ons are answered in the classic format',
    file: 'src/bots/add-on.ts',
    text: '{ hostAppDataAction: { chatDataAction: { createMessageAction: { message: { text } } } } }',
    replacement: '({ text } as never)',
    test: 'test/acceptance/bots/add-on.test.ts',
  },
];
