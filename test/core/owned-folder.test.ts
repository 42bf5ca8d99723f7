// Files of processes that share a folder: any process may take over those of a dead one, and none those of a running one.

import { beforeEach, expect, test } from 'bun:test';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createOwnedFolder } from '../../src/core/owned-folder.ts';
import { type Child, eventually, startChild } from '../support/child.ts';
import { freshFolder } from '../support/folders.ts';

const MODULE = join(import.meta.dir, '../../src/core/owned-folder.ts');

let directory: string;
beforeEach(() => {
  directory = join(freshFolder(), 'folder');
});

/** A process that has written a file of its own. */
async function startWriter(): Promise<{ child: Child; name: string }> {
  const script = `
    const { createOwnedFolder } = await import('${MODULE}');
    const { writeFileSync } = await import('node:fs');
    const name = (await createOwnedFolder('${directory}').newName()) + '.events';
    writeFileSync('${directory}/' + name, 'x');
    console.log('wrote ' + name + ' whole');
    setInterval(() => {}, 1000);`;
  const child = startChild([process.execPath, '-e', script]);
  const name = await eventually('the file', () => /wrote (\S+) whole/.exec(child.output())?.[1]);
  return { child, name };
}

test('a file is handed over when its process has died, not while it hangs', async () => {
  const { child, name } = await startWriter();
  const folder = createOwnedFolder(directory);
  expect(await folder.abandoned()).toEqual([]);
  child.kill('SIGSTOP');
  expect(await folder.abandoned()).toEqual([]);
  child.kill('SIGKILL');
  await child.exited;
  expect(await folder.abandoned()).toEqual([name]);
  // Asked again, and by others, as long as it is there.
  expect(await folder.abandoned()).toEqual([name]);
  expect(await createOwnedFolder(directory).abandoned()).toEqual([name]);
  rmSync(join(directory, name));
  expect(readdirSync(directory)).toEqual([]);
});

test('what a process leaves is handed over at once, and a file without any lock too', async () => {
  const leaving = createOwnedFolder(directory);
  const name = `${await leaving.newName()}.events`;
  writeFileSync(join(directory, name), 'x');
  writeFileSync(join(directory, 'earlier.events'), 'x');
  const other = createOwnedFolder(directory);
  expect(await other.abandoned()).toEqual(['earlier.events']);
  expect(await leaving.abandoned()).toEqual(['earlier.events']);
  leaving.leave();
  expect((await other.abandoned()).sort()).toEqual([name, 'earlier.events'].sort());
});

test('a folder that was deleted under its process is made again, with a lock', async () => {
  const folder = createOwnedFolder(directory);
  const first = await folder.newName();
  expect(await folder.newName()).not.toBe(first);
  rmSync(directory, { recursive: true });
  expect(await folder.abandoned()).toEqual([]);
  const name = `${await folder.newName()}.events`;
  writeFileSync(join(directory, name), 'x');
  expect(await createOwnedFolder(directory).abandoned()).toEqual([]);
  expect(await folder.abandoned()).toEqual([]);
  folder.leave();
  expect(existsSync(join(directory, name))).toBeTrue();
});

test('a disk that takes nothing is an error, and no file is anybody’s by it', async () => {
  writeFileSync(directory, 'no folder');
  const folder = createOwnedFolder(directory);
  await expect(folder.newName()).rejects.toThrow();
  rmSync(directory);
  expect(await folder.newName()).toEndWith('-1');
});
