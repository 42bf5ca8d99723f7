// One process owns the data folder, for exactly as long as it lives.

import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDataFolder } from '../../src/embedded/data-folder.ts';
import { eventually, startChild } from '../support/child.ts';

const MODULE = join(import.meta.dir, '../../src/embedded/data-folder.ts');
const HOLD = `const { openDataFolder } = await import(process.env.MODULE);
  openDataFolder(process.env.FOLDER);
  console.log('locked');
  await Bun.sleep(60_000);`;

const holdInChild = (folder: string) =>
  startChild([process.execPath, '-e', HOLD], { environment: { MODULE, FOLDER: folder } });

function temporaryFolder() {
  const path = mkdtempSync(join(tmpdir(), 'atrium-folder-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

test('an absent folder is created for its owner alone', () => {
  using parent = temporaryFolder();
  const folder = openDataFolder(join(parent.path, 'a/b'));
  expect(statSync(folder.path).mode & 0o777).toBe(0o700);
  folder.close();
});

test('a second process is refused in one line that names the folder and the holder', async () => {
  using parent = temporaryFolder();
  const holder = holdInChild(parent.path);
  await eventually('the lock', () => holder.output().includes('locked'));
  expect(() => openDataFolder(parent.path)).toThrow(
    `The data folder ${parent.path} is in use by process ${holder.pid}`,
  );
  await holder.stop();
});

test('a killed process leaves no lock behind', async () => {
  using parent = temporaryFolder();
  const holder = holdInChild(parent.path);
  await eventually('the lock', () => holder.output().includes('locked'));
  holder.kill('SIGKILL');
  await holder.exited;
  openDataFolder(parent.path).close();
});

test('a refused attempt in the same process does not free the lock', async () => {
  using parent = temporaryFolder();
  const folder = openDataFolder(parent.path);
  expect(() => openDataFolder(parent.path)).toThrow(`is in use by process ${process.pid}`);
  const other = holdInChild(parent.path);
  await other.exited;
  expect(other.output()).toContain(`is in use by process ${process.pid}`);
  folder.close();
  openDataFolder(parent.path).close();
});

test('a folder that can not be made is refused in one line', () => {
  using parent = temporaryFolder();
  const file = join(parent.path, 'file');
  expect(() => openDataFolder(join(process.execPath, 'below-a-file'))).toThrow(
    /^DATA_DIR: .*below-a-file cannot be written: /,
  );
  expect(() => openDataFolder(file)).not.toThrow();
});
