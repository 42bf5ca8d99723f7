// What a reader gives up before it looks at the first file.

import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';

/** The user and the group `nobody`, as Linux numbers them. */
const NOBODY = 65_534;

/**
 * As root: takes the rights of nobody for good. Returns false where the process is not root, and where nobody could not read the
 * service's own code, which is loaded later.
 */
export function dropRights(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const groups = process.getgroups?.() ?? [];
  process.setgroups?.([]);
  process.setegid?.(NOBODY);
  process.seteuid?.(NOBODY);
  const readsCode = canRead(join(import.meta.dir, 'reader.ts')) && canRead(process.argv[1] ?? '');
  process.seteuid?.(0);
  process.setegid?.(0);
  if (!readsCode) {
    process.setgroups?.(groups);
    return false;
  }
  process.setgid?.(NOBODY);
  process.setuid?.(NOBODY);
  return true;
}

function canRead(path: string): boolean {
  try {
    closeSync(openSync(path, 'r'));
    return true;
  } catch {
    return false;
  }
}
