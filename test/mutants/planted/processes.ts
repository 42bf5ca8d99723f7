import type { Planted } from '../mistake.ts';

export const processes: readonly Planted[] = [
  {
    mistake: 'two services that start at once share a port',
    file: 'src/children.ts',
    text: 'claiming ??= claimPort()',
    replacement: 'claiming ??= (claimPort === undefined ? claimPort() : Promise.resolve())',
    test: 'test/service/ending.test.ts',
    name: 'one has the port',
  },
  {
    mistake: 'a start kills a stranger who was given the id of a process that it once owned',
    file: 'src/leftovers.ts',
    text: 'identify(pid)?.startedAt === startedAt',
    replacement: 'identify(pid) !== undefined || startedAt === undefined',
    test: 'test/service/ending.test.ts',
    name: 'only what is what it was is ended',
  },
];
