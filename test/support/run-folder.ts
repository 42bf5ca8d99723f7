// The folder of a run of tests: everything of the run lies in it and names it in its environment, so that whatever the
// run leaves can be ended.

import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** From now on temporary files of this process and of its children lie in the folder. */
export function openRunFolder(): { folder: string; close: () => Promise<void> } {
  const folder = mkdtempSync(join(tmpdir(), 'atrium-run-'));
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
