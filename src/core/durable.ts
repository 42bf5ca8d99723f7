// What it takes for a file to survive a loss of power: its content is flushed, and so is the folder that names it.

import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** Resolves when what was created, renamed or removed in the folder would survive a loss of power. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** The same at once, for a start. */
export function syncFolderNow(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Makes a folder (0700), and those above it that are absent, durably. One that is there already may be so since a crash. */
export function makeFolder(path: string): void {
  const folder = resolve(path);
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 }) ?? folder;
  for (let made = folder; made.length >= first.length; made = dirname(made)) syncParent(made);
}

/** Whose folder it is may keep us from reading it: then it is theirs to keep. */
function syncParent(folder: string): void {
  try {
    syncFolderNow(dirname(folder));
  } catch (error) {
    if (!['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

/** Gives a file (0600) its content, at once or not at all; durable when it returns. */
export function replaceFile(path: string, content: string): void {
  writeFileSync(`${path}.new`, content, { mode: 0o600, flush: true });
  renameSync(`${path}.new`, path);
  syncFolderNow(dirname(path));
}
