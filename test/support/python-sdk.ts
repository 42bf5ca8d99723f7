// The official SDK of PyPI in an environment of its own, outside the tree: `bun run servers` makes it.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE } from './cache.ts';

const REQUIREMENTS = join(import.meta.dir, '../gateway/sdk-conformance/python/requirements.txt');

/** Another list of packages is another folder. */
function folderOf(): string {
  const digest = createHash('sha256').update(readFileSync(REQUIREMENTS)).digest('hex');
  return join(CACHE, `python-sdk-${digest.slice(0, 12)}`);
}

/** The interpreter that has the SDK; undefined where it is not installed. */
export function findPython(): string | undefined {
  const python = join(folderOf(), 'bin/python');
  return existsSync(python) ? python : undefined;
}

/** Why nothing can be tested with it here; undefined when it can. CI requires it. */
export function missingPython(): string | undefined {
  if (findPython() !== undefined) return undefined;
  if (process.env['REQUIRE_SERVERS'] === '1')
    throw new Error("Python's SDK is required, but not installed: bun run servers");
  return "needs Python's SDK: bun run servers";
}

/** Made aside and moved, so that a half-made one is never found. Returns what there is to say. */
export async function installPython(): Promise<string> {
  const folder = folderOf();
  if (findPython() !== undefined) return "Python's SDK is there";
  if (Bun.which('python3') === null) return "Python's SDK is left out: python3 is not on the PATH";
  const making = `${folder}.making`;
  rmSync(making, { recursive: true, force: true });
  await run(['python3', '-m', 'venv', '--copies', making]);
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps'];
  await run([join(making, 'bin/python'), ...install, '--requirement', REQUIREMENTS]);
  renameSync(making, folder);
  return "Python's SDK is installed";
}

async function run(command: string[]): Promise<void> {
  const child = Bun.spawn(command, { stdio: ['ignore', 'inherit', 'inherit'] });
  if ((await child.exited) !== 0) throw new Error(`${command.slice(0, 4).join(' ')} failed`);
}
