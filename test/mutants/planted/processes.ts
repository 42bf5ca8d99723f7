import type { Planted } from '../mistake.ts';

export const processes: readonly Planted[] = [
  {
    mistake: 'two services that start at once share a port',
    file: 'src/processes/port.ts',
    text: 'const claim = await lockPort(setting, address);',
    replacement: 'const claim = setting === "" ? await lockPort(setting, address) : undefined;',
    test: 'test/service/port.test.ts',
  },
  {
    mistake: 'the first of several processes listens without a claim to the port',
    file: 'src/processes/children.ts',
    text: "await claimPort('PORT', { hostname, port }, async () => {",
    replacement:
      "await (async (_: string, __: object, run: () => Promise<void>) => run())('PORT', { hostname, port }, async () => {",
    test: 'test/service/ending.test.ts',
    name: 'one has the port',
  },
  {
    mistake: 'a process that hangs outlives its owner',
    file: 'src/processes/owner.ts',
    text: '  dieWithParent();\n',
    replacement: '',
    test: 'test/service/ending.test.ts',
    name: 'what a killed owner has left',
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
  {
    mistake: '/readyz has the figures of one of several processes',
    file: 'src/http/readiness.ts',
    text: "if (across === 'sum') return Number(known) + Number(value);",
    replacement: "if (across === 'sum') return known;",
    test: 'test/http/readiness.test.ts',
  },
];
