// Packages of PyPI in environments of their own, outside the tree: `bun run servers` makes them.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE } from './cache.ts';

/** `sdk`: the official SDKs; `frameworks`: LangChain and LlamaIndex; `pgvector`: the extension, built for the embedded server's version. */
const REQUIREMENTS = {
  sdk: join(import.meta.dir, '../gateway/sdk-conformance/python/requirements.txt'),
  frameworks: join(import.meta.dir, '../acceptance/vector-stores/requirements.txt'),
  pgvector: join(import.meta.dir, '../documents/vectors/requirements.txt'),
} as const;
type PythonName = keyof typeof REQUIREMENTS;

/** Another list of packages is another folder. */
function folderOf(name: PythonName): string {
  const digest = createHash('sha256').update(readFileSync(REQUIREMENTS[name])).digest('hex');
  return join(CACHE, `python-sdk-${digest.slice(0, 12)}`);
}

/** The interpreter that has the packages; undefined where they are not installed. */
export function findPython(name: PythonName = 'sdk'): string | undefined {
  const python = join(folderOf(name), 'bin/python');
  return existsSync(python) ? python : undefined;
}

/** Why nothing can be tested with it here; undefined when it can. CI requires it. */
export function missingPython(name: PythonName = 'sdk'): string | undefined {
  if (findPython(name) !== undefined) return undefined;
  if (process.env['REQUIRE_SERVERS'] === '1')
    throw new Error(`Python's packages (${name}) are required, but not installed: bun run servers`);
  return `needs Python's packages (${name}): bun run servers`;
}

/** Made aside and moved, so that a half-made one is never found. Returns what there is to say. */
export async function installPython(): Promise<string> {
  if (Bun.which('python3') === null) return "Python's packages are left out: python3 is not on the PATH";
  for (const name of Object.keys(REQUIREMENTS) as PythonName[]) {
    if (findPython(name) !== undefined) continue;
    const making = `${folderOf(name)}.making`;
    rmSync(making, { recursive: true, force: true });
    await run(['python3', '-m', 'venv', '--copies', making]);
    const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps'];
    await run([join(making, 'bin/python'), ...install, '--requirement', REQUIREMENTS[name]]);
    renameSync(making, folderOf(name));
  }
  return "Python's packages are installed";
}

async function run(command: string[]): Promise<void> {
  const child = Bun.spawn(command, { stdio: ['ignore', 'inherit', 'inherit'] });
  if ((await child.exited) !== 0) throw new Error(`${command.slice(0, 4).join(' ')} failed`);
}
