// Folders that tests write into.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folders: string[] = [];

/** An empty folder of its own, which is removed after the last test of the file. */
export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'atrium-test-'));
  folders.push(folder);
  return folder;
}

/** Removes what `freshFolder` made; called once after all tests. */
export function removeFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}
