// The folder of a run of tests: everything of the run lies in it and names it in its environment, so that whatever the
// run leaves can be ended.

import { accessSync, chmodSync, constants, mkdtempSync, readFileSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system in memory: a sync and a new database cost a fraction there, and nothing waits for a disk. */
const MEMORY = '/dev/shm';
/** More than a run writes; what it needs for itself comes on top. */
const BYTES_MIN = 8 * 1024 ** 3;

/** The place in memory where there is one with room, on a machine that has the memory for it; else that of temporary files. */
function placeOfRun(): string {
  try {
    accessSync(MEMORY, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    const available = /^MemAvailable: +(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'latin1'))?.[1];
    const bytes = Math.min(bavail * bsize, Number(available) * 1024);
    return bytes >= BYTES_MIN ? MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}

/** From now on temporary files of this process and of its children lie in the folder. */
export function openRunFolder(): { folder: string; close: () => Promise<void> } {
  const folder = mkdtempSync(join(placeOfRun(), 'atrium-run-'));
  // Programs of other users find what lies in it, when they are told its name.
  chmodSync(folder, 0o711);
  // It ends whatever the run leaves, also when this process is killed: then its standard input ends.
  const sweeper = Bun.spawn([process.execPath, join(import.meta.dir, 'sweep-run.ts'), folder], {
    stdio: ['pipe', 'inherit', 'inherit'],
    detached: true,
  });
  process.env['TMPDIR'] = folder;
  return {
    folder,
    async close() {
      sweeper.stdin.end();
      await sweeper.exited;
    },
  };
}
