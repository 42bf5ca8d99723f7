// A folder in which each process owns files, and adopts those of processes that have died. A lock shows whether a process
// lives, so that one that hangs, or whose clock was set, keeps its files. Repeated checks run off the main thread: the disk may hang.

import { existsSync, rmSync } from 'node:fs';
import { access, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from './durable.ts';
import { type FileLock, lockFile } from './file-lock.ts';
import { newRandomId } from './ids.ts';

export type OwnedFolder = {
  /**
   * A name for a new file of this process, without its suffix. The first call creates the folder and the lock. Rejects with
   * the error of the disk.
   */
  newName(): Promise<string>;
  /** The files of processes that have died, never those of a running process. Rejects with the error of the disk. */
  abandoned(): Promise<string[]>;
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
  const hasDied = async (id: string): Promise<boolean> => {
    if (own.has(id)) return false;
    if (!(await exists(lockPath(id)))) return true;
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
    async newName() {
      // Without its lock file, the files of this process could be adopted by others.
      if (held !== undefined && !(await exists(lockPath(held.id)))) leave();
      held ??= hold();
      return `${held.id}-${++names}`;
    },
    async abandoned() {
      if (!(await exists(directory))) return [];
      const all = (await readdir(directory)).map((name) => ({ name, id: ownerOf(name) }));
      const dead = new Set<string>();
      for (const id of new Set(all.map((each) => each.id))) if (await hasDied(id)) dead.add(id);
      return all.filter(({ name, id }) => dead.has(id) && !name.endsWith(LOCK)).map(({ name }) => name);
    },
    leave,
  };
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** `<id>-<number>.<suffix>`, and `<id>.lock`. */
const ownerOf = (name: string): string => name.replace(/(?:-\d+)?\.\w+$/, '');
