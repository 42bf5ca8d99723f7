// A lock on a file that the kernel frees when its process ends, however it ends; children do not inherit it. So there is
// no stale lock to reason about, and no clock. SQLite has the system's calls for it: a record lock on an empty database.

import { Database } from 'bun:sqlite';
import { codeOf } from './errors.ts';

export type FileLock = { release(): void };

/** Locks live until they are released: those that only the garbage collector could reach would be free too soon. */
const held = new Set<Database>();

/** Undefined where another has it. Throws where the file cannot be opened, with `create: false` also an absent one. */
export function lockFile(path: string, { create }: { create: boolean }): FileLock | undefined {
  let database: Database | undefined;
  try {
    database = new Database(path, { readwrite: true, create });
    // The journal stays in memory: the file is only there to be locked.
    database.run('PRAGMA journal_mode = MEMORY');
    database.run('PRAGMA locking_mode = EXCLUSIVE');
    database.run('BEGIN EXCLUSIVE');
    const lock = database;
    held.add(lock);
    return {
      release() {
        held.delete(lock);
        lock.close();
      },
    };
  } catch (error) {
    database?.close();
    if (codeOf(error) === 'SQLITE_BUSY') return undefined;
    throw error;
  }
}
