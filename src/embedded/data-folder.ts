/** The folder that holds everything embedded, and the lock that makes one process its owner. */
import { Database } from 'bun:sqlite';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export type DataFolder = {
  /** Absolute path. */
  path: string;
  /** Gives the lock back. */
  close: () => void;
};

/**
 * Creates the folder (0700) where it is absent and locks it for this process.
 *
 * The lock is a record lock that SQLite holds on `lock`: the kernel frees it when the process ends, however
 * it ends, and children do not inherit it, so there is no stale lock to reason about. `lock.pid` only serves
 * the message.
 *
 * @throws Error of one line that names the folder, and the process that holds it where there is one.
 */
export function openDataFolder(path: string): DataFolder {
  const folder = resolve(path);
  const pidFile = join(folder, 'lock.pid');
  createFolder(folder);
  const lock = acquireLock(folder, pidFile);
  writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 });
  return {
    path: folder,
    close() {
      rmSync(pidFile, { force: true });
      lock.close();
    },
  };
}

function createFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new Error(`The data folder ${folder} can't be created: ${messageOf(cause)}`, { cause });
  }
}

function acquireLock(folder: string, pidFile: string): Database {
  let database: Database | undefined;
  try {
    database = new Database(join(folder, 'lock'), { create: true });
    // The journal stays in memory: the file is only there to be locked.
    database.run('PRAGMA journal_mode = MEMORY');
    database.run('PRAGMA locking_mode = EXCLUSIVE');
    database.run('BEGIN EXCLUSIVE');
    return database;
  } catch (cause) {
    database?.close();
    if (cause instanceof Error && 'code' in cause && cause.code === 'SQLITE_BUSY') {
      throw new Error(`The data folder ${folder} is in use by ${holderOf(pidFile)}`, { cause });
    }
    throw new Error(`The data folder ${folder} can't be locked: ${messageOf(cause)}`, { cause });
  }
}

function holderOf(pidFile: string): string {
  const pid = existsSync(pidFile) ? Number.parseInt(readFileSync(pidFile, 'utf8'), 10) : Number.NaN;
  return Number.isNaN(pid) ? 'another process' : `process ${pid}`;
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
