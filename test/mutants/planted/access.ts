import type { Planted } from '../mistake.ts';

export const access: readonly Planted[] = [
  {
    mistake: 'a revoked key is good until the cache forgets it',
    file: 'src/access/authentication.ts',
    text: '      cache.drop(hash);\n',
    replacement: '',
    test: 'test/access/revocation.test.ts',
    name: 'a key that one process revokes',
  },
  {
    mistake: 'an administrator can change an operator’s key',
    file: 'src/access/operators.ts',
    text: 'if (concernsOperator && !isOperator(principal))',
    replacement: 'if (concernsOperator && false)',
    test: 'test/access/operators.test.ts',
  },
  {
    mistake: 'a sign-in causes no event',
    file: 'src/access/store/sessions.ts',
    text: '    usage_tell(',
    replacement: '    ROW(',
    test: 'test/access/session.test.ts',
    name: 'together with their event, or not at all',
  },
];
