// A version of the service as a program that can be started: this one, or one of the repository's history.

import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { MAIN } from '../../support/service.ts';

const ROOT = resolve(import.meta.dir, '../../..');

export type Version = {
  name: string;
  command: readonly string[];
  /** It serves for SHUTDOWN_DELAY_MS after SIGTERM. One that does not is taken out of the balancer before it is told to end. */
  delaysItsEnd: boolean;
};

export const THIS_VERSION: Version = {
  name: 'this version',
  command: [process.execPath, MAIN],
  delaysItsEnd: true,
};

/** Takes a commit out of the repository into the folder, with its dependencies, and builds what it builds before a start. */
export async function buildVersion(commit: string, folder: string): Promise<Version> {
  const name = (await run(['git', 'rev-parse', '--short', `${commit}^{commit}`], ROOT)).trim();
  const directory = join(folder, name);
  mkdirSync(directory);
  await run(['sh', '-c', 'git -C "$1" archive "$2" | tar -x -C "$3"', '-', ROOT, name, directory], ROOT);
  await run([process.execPath, 'install', '--frozen-lockfile', '--no-summary'], directory);
  await run(['sh', 'assembly/build.sh'], directory);
  await run([process.execPath, 'src/console/build.ts'], directory);
  const command = [process.execPath, join(directory, 'src/main.ts')];
  const help = await run([...command, '--help'], directory);
  return { name, command, delaysItsEnd: help.includes('SHUTDOWN_DELAY_MS') };
}

async function run(command: readonly string[], directory: string): Promise<string> {
  const { PATH, HOME, TMPDIR } = process.env;
  const child = Bun.spawn([...command], {
    cwd: directory,
    env: { PATH, HOME, TMPDIR },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, mistake] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')}: ${mistake || out}`);
  return out;
}
