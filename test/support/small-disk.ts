// A disk that a test can fill for real: a small file system in memory. Mounting takes root, on Linux.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type SmallDisk = { path: string; fill(): void; free(): void; remove(): void };

/** `size` as mount reads it: `48m`. Undefined where no file system may be mounted. */
export function mountDisk(size: string): SmallDisk | undefined {
  const path = mkdtempSync(join(tmpdir(), 'atrium-small-disk-'));
  const run = (...command: string[]): boolean => {
    try {
      return Bun.spawnSync(command).success;
    } catch {
      // There is no such command here.
      return false;
    }
  };
  if (!run('mount', '-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path)) {
    rmSync(path, { recursive: true });
    return undefined;
  }
  const filler = join(path, 'filler');
  return {
    path,
    /** To the last page, again where room has come free since: dd writes until the disk takes no more. */
    fill: () => void run('dd', 'if=/dev/zero', `of=${filler}`, 'bs=4096', 'oflag=append', 'conv=notrunc'),
    free: () => rmSync(filler, { force: true }),
    remove() {
      run('umount', '-l', path);
      rmSync(path, { recursive: true, force: true });
    },
  };
}
