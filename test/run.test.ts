// The run of the tests itself: what it starts ends with it, however it ends, and each file is in one group.

import { expect, test } from 'bun:test';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive } from '../src/embedded/postgres/processes.ts';
import { eventually, startChild } from './support/child.ts';
import { allFiles, filesOf, GROUPS, quickFiles } from './support/groups.ts';

const ROOT = join(import.meta.dir, '..');
const RUN = [
  process.execPath,
  'test/run.ts',
  './test/support/left-behind/leaves.ts',
  './test/core/errors.test.ts',
];

type Left = { folder: string; pids: number[]; ports: number[] };

/** Undefined until it is there. */
const readReport = (path: string): Left | undefined =>
  existsSync(path) && statSync(path).size > 0 ? JSON.parse(readFileSync(path, 'utf8')) : undefined;

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });

test.each(['by itself', 'by SIGINT', 'by SIGTERM', 'by SIGKILL', 'with the shell that started it'])(
  'a run that ends %s leaves no process, port or folder behind',
  async (how) => {
    const shell = how === 'with the shell that started it';
    const command = shell ? ['sh', '-c', `${RUN.join(' ')} & wait`] : RUN;
    const report = join(tmpdir(), `atrium-left-${crypto.randomUUID()}`);
    const environment = { HANG: how === 'by itself' ? '0' : '1', REPORT: report };
    const run = startChild(command, { environment, directory: ROOT });
    const { folder, pids, ports } = await eventually('the processes', () => readReport(report));
    expect(pids).toHaveLength(4);
    if (how.startsWith('by SIG')) run.kill(how.slice(3) as NodeJS.Signals);
    else if (shell) run.kill('SIGKILL');
    const code = await run.exited;
    if (how === 'by itself') {
      expect(run.output().trimEnd().split('\n').at(-1)).toMatch(/^Ran \d+ tests across 2 files\./);
      expect(code).toBe(0);
    } else expect(code).not.toBe(0);
    await eventually('the folder to go', () => !existsSync(folder));
    expect(pids.filter(isAlive)).toEqual([]);
    // Another test may be given such a port for a while.
    await eventually(
      'the ports to be free',
      async () => !(await Promise.all(ports.map(isOpen))).includes(true),
    );
    rmSync(report);
  },
);

test('each test file is in exactly one group', () => {
  expect(GROUPS.flatMap(filesOf).sort()).toEqual(allFiles());
});

test('the quick files need no server, no browser and no fault', () => {
  const quick = quickFiles({ 'test/acceptance/start.test.ts': 60_000 });
  expect(quick).toContain('test/tidy.test.ts');
  expect(quick).toContain('test/acceptance/documents.test.ts');
  expect(quick).not.toContain('test/acceptance/start.test.ts');
  expect(quick).not.toContain('test/usage/jetstream.test.ts');
  expect(quick.filter((path) => /browser|faults/.test(path.split('/')[1] ?? ''))).toEqual([]);
});
