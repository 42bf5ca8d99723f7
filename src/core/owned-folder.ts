// A folder in which each process owns files, and adopts those of processes that have died. A lock shows whether a process
// lives, so that one that hangs, or whose clock was set, keeps its files.

import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from './durable.ts';
import { type FileLock, lockFile } from './file-lock.ts';
import { newRandomId } from './ids.ts';

export type OwnedFolder = {
  /**
   * A name for a new file of this process, without its suffix. The first call creates the folder and the lock. Throws the
   * error of the disk.
   */
  newName(): string;
  /** The files of processes that have died, never those of a running process. Throws the error of the disk. */
  abandoned(): string[];
  /** Releases the lock: this process adds no more files, and another one may adopt those that remain. */
  leave(): void;
};

const LOCK = '.lock';
/** A process that checks for dead owners may hold a new lock for a moment, so that its owner has to retry. */
const ATTEMPTS_MAX = 3;

export function createOwnedFolder(directory: string): OwnedFolder {
  const lockPath = (id: string): string => join(directory, `${id}${LOCK}`);
  /** The ids of this process, including those whose folder was deleted. */
  const own = new Set<string>();
  let held: { id: string; lock: FileLock } | undefined;
  let names = 0;

  const hold = (): { id: string; lock: FileLock } => {
    makeFolder(directory);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const id = newRandomId();
      const lock = lockFile(lockPath(id), { create: true });
      // Only this process creates the file, so that it is the locked one unless it was deleted.
      if (lock !== undefined && existsSync(lockPath(id))) {
        own.add(id);
        return { id, lock };
      }
      lock?.release();
    }
    throw new Error(`no lock can be had in ${directory}`);
  };
  const leave = (): void => {
    if (held === undefined) return;
    try {
      rmSync(lockPath(held.id), { force: true });
    } catch {
      // Another process removes it, because the lock is free from here on.
    }
    held.lock.release();
    held = undefined;
  };
  const hasDied = (id: string): boolean => {
    if (own.has(id)) return false;
    if (!existsSync(lockPath(id))) return true;
    try {
      const lock = lockFile(lockPath(id), { create: false });
      if (lock === undefined) return false;
      rmSync(lockPath(id), { force: true });
      lock.release();
      return true;
    } catch {
      // Another process has done the same at this moment. If the lock cannot be tested, no file is adopted.
      return !existsSync(lockPath(id));
    }
  };

  return {
    newName() {
      // Without its lock file, the files of this process could be adopted by others.
      if (held !== undefined && !existsSync(lockPath(held.id))) leave();
      held ??= hold();
      return `${held.id}-${++names}`;
    },
    abandoned() {
      if (!existsSync(directory)) return [];
      const all = readdirSync(directory).map((name) => ({ name, id: ownerOf(name) }));
      const dead = new Set([...new Set(all.map(({ id }) => id))].filter(hasDied));
      return all.filter(({ name, id }) => dead.has(id) && !name.endsWith(LOCK)).map(({ name }) => name);
    },
    leave,
  };
}

/** `<id>-<number>.<suffix>`, and `<id>.lock`. */
const ownerOf = (name: string): string => name.replace(/(?:-\d+)?\.\w+$/, '');
