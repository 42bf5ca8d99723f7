// A lock on a file, which the kernel releases at the end of its process, also after a crash; children do not inherit it.
// Therefore no lock is stale, and no clock is needed. SQLite makes the system calls: a record lock on an empty database.

import { Database } from 'bun:sqlite';
import { codeOf } from './errors.ts';

export type FileLock = NonNullable<ReturnType<typeof lockFile>>;

/** References to the held locks, because the garbage collector would close an unreferenced one and release its lock. */
const held = new Set<Database>();

/** Undefined where another process holds it. Throws where the file cannot be opened; with `create: false` also an absent one. */
export function lockFile(path: string, { create }: { create: boolean }) {
  let database: Database | undefined;
  try {
    database = new Database(path, { readwrite: true, create });
    // The journal stays in memory, because the file exists only for its lock.
    database.run('PRAGMA journal_mode = MEMORY');
    database.run('PRAGMA locking_mode = EXCLUSIVE');
    database.run('BEGIN EXCLUSIVE');
    const lock = database;
    held.add(lock);
    return {
      release(): void {
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
