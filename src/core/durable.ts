// Durability of files: after a loss of power a file exists only if both its content and its folder were flushed.

import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** Flushes the folder: resolves when the creation, renaming and removal of its files would survive a loss of power. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** The same, synchronously, for the start of the process. */
export function syncFolderNow(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Creates a folder (0700) and its absent parents, durably. An existing folder is flushed, too, because of earlier crashes. */
export function makeFolder(path: string): void {
  const folder = resolve(path);
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 }) ?? folder;
  for (let made = folder; made.length >= first.length; made = dirname(made)) syncParent(made);
}

/** Ignores a parent that this user may not read, because its owner is responsible for it. */
function syncParent(folder: string): void {
  try {
    syncFolderNow(dirname(folder));
  } catch (error) {
    if (!['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

/** Replaces the content of a file (0600) atomically; it is durable when this returns. */
export function replaceFile(path: string, content: string): void {
  writeFileSync(`${path}.new`, content, { mode: 0o600, flush: true });
  renameSync(`${path}.new`, path);
  syncFolderNow(dirname(path));
}
