import type { Planted } from '../mistake.ts';

export const processes: readonly Planted[] = [
  {
    mistake: 'two services that start at once share a port',
    file: 'src/processes/children.ts',
    text: 'claiming ??= claimPort()',
    replacement: 'claiming ??= (claimPort === undefined ? claimPort() : Promise.resolve())',
    test: 'test/service/ending.test.ts',
    name: 'one has the port',
  },
  {
    mistake: 'a start kills a stranger who was given the id of a process that it once owned',
    file: 'src/processes/leftovers.ts',
    text: 'identify(pid)?.startedAt === startedAt',
    replacement: 'identify(pid) !== undefined || startedAt === undefined',
    test: 'test/service/ending.test.ts',
    name: 'only what is what it was is ended',
  },
  {
    mistake: 'a data folder that cannot be written is found out by what comes upon it first',
    file: 'src/embedded/data-folder.ts',
    text: "    writeFileSync(trial, 'It can be removed.\\n', { mode: 0o600, flush: true });\n    rmSync(trial);\n",
    replacement: '',
    test: 'test/faults/first-start.test.ts',
    name: 'that is full',
  },
  {
    mistake: 'a folder within the data folder that belongs to another user is not found out',
    file: 'src/embedded/data-folder.ts',
    text: 'accessSync(within, constants.W_OK | constants.X_OK);',
    replacement: 'accessSync(within, constants.F_OK);',
    test: 'test/faults/first-start.test.ts',
    name: 'within the own one is refused by its name',
  },
];
