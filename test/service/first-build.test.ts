// What the commands say before the service speaks: a line before a wait, and nothing where there is none.

import { expect, test } from 'bun:test';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startChild } from '../support/child.ts';
import { freshFolder } from '../support/folders.ts';

const ROOT = join(import.meta.dir, '../..');

async function run(command: string[], directory: string): Promise<string> {
  const child = startChild(['bash', '-c', `cd "$0" && exec "$@"`, directory, ...command]);
  expect(await child.exited).toBe(0);
  return child.output();
}

test('packages are installed with a line before, and not spoken of once they are there', async () => {
  const folder = freshFolder();
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const dependencies = { local: 'file:./local' };
  mkdirSync(join(folder, 'local'));
  writeFileSync(join(folder, 'local/package.json'), '{"name":"local","version":"1.0.0"}');
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'clone', scripts: { deps: scripts.deps }, dependencies }),
  );
  await run(['bun', 'install'], folder);
  rmSync(join(folder, 'node_modules'), { recursive: true });
  expect(await run(['bun', 'run', '--silent', 'deps'], folder)).toStartWith('Installing packages');
  expect(await run(['bun', 'run', '--silent', 'deps'], folder)).toBe('');
});

test('the first build has a line before, and a later one none', async () => {
  const folder = freshFolder();
  cpSync(join(ROOT, 'assembly'), join(folder, 'assembly'), { recursive: true });
  cpSync(join(ROOT, 'bun.lock'), join(folder, 'bun.lock'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  expect(await run(['sh', 'assembly/build.sh'], folder)).toStartWith('Building for the first time');
  expect(await run(['sh', 'assembly/build.sh'], folder)).toBe('');
});
